//! One instant: all checks of a naked key change together, for every thread that executes them.
//!
//! ```text
//!   flipper   stage = 2n ── flip number n, to n % 2 ── stage = 2n + 1
//!   reader    a = stage ── the checks, one after the other ── b = stage          looks at what it met where a == b
//!                 a even   a flip is going on, and no other: no check is old behind one that is new
//!                 a odd    it has returned: all are new
//! ```
//!
//! A key with one site for each check breaks the first promise, so the test can fail. A writer that writes nothing breaks the second.
//!
//! The test takes processors that run at the same time, which emulated ones do not.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "x86"), jumplabel_sites))]

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jumplabel::platform::{Write, Writer};
use jumplabel::{RawKey, Refusal, Visibility, WriterKind, naked_key, set_writer};
use jumplabel_testing::{clock, pages, scenario, twin};
use scenario::{Scenario, passes};

/// Checks that a reader makes in a row.
const CHECKS: usize = 32;

naked_key! { static KEY: false; }

fn check<const N: usize>() -> bool {
    black_box(N);
    KEY.get()
}

macro_rules! checks {
    ($($n:literal)*) => { [$(check::<{ $n }> as fn() -> bool),*] };
}

/// `CHECKS` calls of the key's function, at as many places.
static NAKED: [fn() -> bool; CHECKS] =
    checks!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

crate::pages::pages! { spread: 1 keys, 32 sites, every 1 pages, at 0 }

/// The counts of what the readers met.
#[derive(Default)]
struct Seen {
    /// Rounds of checks in which the key changed.
    changes: AtomicU64,
    /// Rounds in which a check was old after one that was new.
    backwards: AtomicU64,
    /// Rounds after a flip in which a check was old.
    stale: AtomicU64,
}

impl Seen {
    fn failed(&self) -> bool {
        self.backwards.load(Ordering::Relaxed) + self.stale.load(Ordering::Relaxed) > 0
    }

    /// Bit n of `met` is the result of check number n.
    fn note(&self, stage: u64, met: u32) {
        let count = |counter: &AtomicU64, when: bool| counter.fetch_add(u64::from(when), Ordering::Relaxed);
        let new = if stage >> 1 & 1 == 1 { met } else { !met };
        if stage & 1 == 1 {
            count(&self.stale, new != u32::MAX);
        } else if new != 0 {
            let first = new.trailing_zeros();
            count(&self.changes, new != u32::MAX);
            count(&self.backwards, new >> first != u32::MAX >> first);
        }
    }
}

/// No check is executed before the load in front of it, or after the load that follows it.
fn fence() {
    // SAFETY: an instruction of SSE2, which these targets have.
    unsafe { std::arch::asm!("lfence") };
}

/// Two of the processors, if there are two.
fn two_processors() -> Option<[usize; 2]> {
    let processors = clock::processors();
    if processors.len() < 2 {
        println!("skipped: nobody can meet a change on the only processor");
        return None;
    }
    Some([processors[0], processors[1]])
}

/// Flips `key` while two readers check it. One of them has a processor that the flipper never takes: a scheduler that finds
/// two processors equally busy with other work leaves all three of them on one for as long as it likes.
fn watch(key: &RawKey, checks: impl Fn(usize) -> bool + Sync) -> Seen {
    let Some([home, away]) = two_processors() else { scenario::skip() };
    const ENOUGH: u64 = 200;
    const PATIENCE: Duration = Duration::from_secs(8);
    let (stage, stop, seen) = (AtomicU64::new(1), AtomicBool::new(false), Seen::default());
    let read = || {
        while !stop.load(Ordering::Relaxed) {
            let before = stage.load(Ordering::SeqCst);
            fence();
            let met = (0..CHECKS).fold(0, |met, at| met | u32::from(checks(at)) << at);
            fence();
            if stage.load(Ordering::SeqCst) == before {
                seen.note(before, met);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(read);
        scope.spawn(|| {
            clock::move_to(&[away]);
            read();
        });
        clock::move_to(&[home]);
        let (start, mut flip) = (Instant::now(), 0);
        while seen.changes.load(Ordering::Relaxed) < ENOUGH && !seen.failed() && start.elapsed() < PATIENCE {
            flip += 1;
            stage.store(2 * flip, Ordering::SeqCst);
            let outcome = if flip % 2 == 1 { key.enable() } else { key.disable() };
            let immediate = outcome.is_ok_and(|outcome| outcome.visibility == Visibility::Immediate);
            stage.store(2 * flip + 1, Ordering::SeqCst);
            if !immediate {
                println!("flip {flip}: {outcome:?}");
                seen.stale.fetch_add(1, Ordering::Relaxed);
                break;
            }
            std::thread::sleep(Duration::from_micros(20)); // A thread that is starved by readers gets on, too.
        }
        stop.store(true, Ordering::Relaxed);
        println!("{flip} flips");
    });
    seen
}

fn judge(seen: &Seen) {
    let [changes, backwards, stale] =
        [&seen.changes, &seen.backwards, &seen.stale].map(|count| count.load(Ordering::Relaxed));
    println!("{changes} rounds of checks met the change, {backwards} went back, {stale} came late");
    assert!(backwards == 0, "{backwards} rounds went back");
    assert!(stale == 0, "{stale} rounds came late");
    assert!(changes > 0, "nobody met a change");
}

fn naked_key_with(writer: WriterKind) {
    set_writer(Some(writer));
    judge(&watch(&KEY, |at| NAKED[at]()));
}

#[test]
fn with_procmem() {
    passes(|| naked_key_with(WriterKind::Procmem));
}

#[test]
fn with_mprotect() {
    passes(|| naked_key_with(WriterKind::Mprotect));
}

#[test]
fn with_remap() {
    passes(|| naked_key_with(WriterKind::Remap));
}

/// The broken twin: a site for each check.
#[test]
fn a_key_with_many_sites_is_found_out() {
    if two_processors().is_none() {
        return;
    }
    Scenario::new().fails("rounds went back", || {
        set_writer(Some(WriterKind::Procmem));
        judge(&watch(&spread().keys[0], |at| spread().check(at)));
    });
}

/// A platform whose writer forgets the functions of naked keys.
struct Forgetful;

impl twin::Twin for Forgetful {
    fn write(&self, _: &mut dyn Writer, _: &[Write]) -> Result<(), (usize, Refusal)> {
        Ok(())
    }
}

#[test]
fn a_writer_that_forgets_is_found_out() {
    if two_processors().is_none() {
        return;
    }
    Scenario::new().fails("rounds came late", || {
        twin::install(Forgetful);
        judge(&watch(&KEY, |at| NAKED[at]()));
    });
}
