//! Twins that tear an instruction of several bytes by the way in which they store it. They ignore the steps, and write everything at once, when the
//! last step is due.
//!
//! | twin | what it does | found out by |
//! |---|---|---|
//! | `bytes` | all bytes of the new state, one by one, with time between them | a trap |
//! | `word` | all bytes, and the three behind them, by one unaligned store | a trap |
//!
//! On x86 only: a word that is aligned is not torn by one store, and on s390x one byte makes the difference.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::child::Report;
use crate::fault::fault;
use crate::twins::Twin;
use crate::{TWIN, twin};

#[test]
fn bytes_one_by_one_are_found_out() {
    trapped(&twin("torn::bytes_one_by_one_are_found_out", TWIN, Twin { store: Some(bytes), ..Twin::STEPS }));
}

/// Short sites: both bytes are written one by one.
#[test]
#[cfg(unix)]
fn short_sites_byte_by_byte_are_found_out() {
    use crate::{RUNS, child::run_in_child, run::run};
    use jumplabel::WriterKind;
    use std::sync::PoisonError;

    let _alone = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let report = run_in_child("torn::short_sites_byte_by_byte_are_found_out", TWIN, |time| {
        Twin { store: Some(bytes), ..Twin::STEPS }.install();
        run(WriterKind::Custom, time, |cell| cell.name == "short")
    });
    trapped(&report);
}

#[test]
fn unaligned_words_are_found_out() {
    let report = twin("torn::unaligned_words_are_found_out", TWIN, Twin { store: Some(word), ..Twin::STEPS });
    // One store is torn only for a thread on another processor. Threads that had the time of one and a half ran at once.
    let processors = std::thread::available_parallelism().map_or(1.0, |number| number.get() as f64);
    if report.is_good() && report.busy * processors < 1.5 {
        return println!("not shown: the threads hardly ran at once");
    }
    trapped(&report);
}

/// Writes byte by byte.
pub fn bytes(site: usize, bytes: &[u8]) {
    for (byte, address) in bytes.iter().zip(site..) {
        // SAFETY: a byte of a site on a page that is open.
        unsafe { (address as *mut u8).write_volatile(*byte) };
        (0..100).for_each(|_| std::hint::spin_loop());
    }
}

fn word(site: usize, bytes: &[u8]) {
    // SAFETY: the site and the bytes after it, which are of its function.
    let mut word = unsafe { (site as *const [u8; 8]).read_volatile() };
    word[..bytes.len()].copy_from_slice(bytes);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: one instruction that stores eight bytes.
    unsafe {
        std::arch::asm!("movq [{}], {}", in(reg) site, in(xmm_reg) f64::from_le_bytes(word));
    }
}

/// Asserts that a torn instruction was executed: there was a signal, or a result that is none of the site's.
pub fn trapped(report: &Report) {
    let trapped = report.status.and_then(fault).is_some_and(|(_, is_trap)| is_trap);
    assert!(trapped || !report.failures.is_empty(), "not found out: {}", report.ended());
    println!("found out: {}", report.ended());
}
