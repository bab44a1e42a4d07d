//! Probes that come and go while `remap` moves their page.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jumplabel::{Error, Outcome, Refusal, WriterKind, set_writer, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::{passes, rounds};
use jumplabel_testing::stop::Stop;

use super::probe::{self, By, Probe, bytes};
use super::{Check, PREFIX};

// A key for this test alone, because a probe is in all processes that have mapped the file.
static_key! { static MOVED: false; }

/// A probe is there, or is just being set or removed.
const BUSY: [Refusal; 2] = [Refusal::errno(libc::EBUSY), Refusal::errno(libc::EAGAIN)];

/// The kernel sets a probe and removes it, while the page is moved as fast as this goes and another thread executes the check. Nobody dies of
/// a breakpoint that stayed. A flip that meets the probe is refused.
#[test]
fn set_and_removed() {
    passes(|| {
        if !probe::all().contains(&By::Kernel) {
            return println!("skipped: needs the kernel's own probes");
        }
        set_writer(Some(WriterKind::Remap));
        let check = &Check { key: &MOVED, run: || static_branch_unlikely!(MOVED), first: Some(false) };
        let (front, stop) = (check.site() - 1, AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut flips, mut refused) = (0, 0);
                while !stop.load(Relaxed) {
                    match if flips % 2 == 0 { MOVED.enable() } else { MOVED.disable() } {
                        Ok(_) => flips += 1,
                        Err(Error::Denied { refused: why }) if BUSY.contains(&why.of(WriterKind::Remap)) => {
                            refused += 1
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                println!("{flips} flips, {refused} refused");
            });
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    (check.run)();
                }
            });
            let _stop = Stop(&stop);
            let (start, mut all) = (Instant::now(), 0);
            while all < rounds(100) && start.elapsed() < Duration::from_secs(4) {
                let probe = Probe::set(By::Kernel, front).unwrap();
                // The probe stays for a while, so that flips meet it.
                std::thread::sleep(Duration::from_millis(2));
                drop(probe);
                all += 1;
            }
            println!("{all} probes");
        });
        succeeds(|| MOVED.disable());
        assert!(bytes(front) == [PREFIX] && check.is(false));
    });
}

/// A probe stays set: flips of keys on its page are refused, and succeed when it is gone.
#[test]
fn refused_while_it_is_set() {
    passes(|| {
        if !probe::all().contains(&By::Kernel) {
            return println!("skipped: needs the kernel's own probes");
        }
        static_key! { static KEY: false; }
        set_writer(Some(WriterKind::Remap));
        let check = &Check { key: &KEY, run: || static_branch_unlikely!(KEY), first: Some(false) };
        for hit in [false, true] {
            for on in [true, false] {
                let probe = Probe::set(By::Kernel, check.site() - 1).unwrap();
                if hit {
                    probe.hit(check.run);
                }
                let change = || if on { KEY.enable() } else { KEY.disable() };
                let error = change().unwrap_err();
                assert!(
                    matches!(error, Error::Denied { refused } if refused.of(WriterKind::Remap) == BUSY[0]),
                    "{error}"
                );
                drop(probe);
                assert!(check.is(!on));
                succeeds(change);
                assert!(check.is(on));
            }
        }
    });
}

/// Another test's probe can be on the same page, but it goes.
pub fn succeeds(change: impl Fn() -> Result<Outcome, Error>) {
    let start = Instant::now();
    while let Err(error) = change() {
        assert!(start.elapsed() < Duration::from_secs(30), "{error}");
    }
}

/// A breakpoint that is not the kernel's can be one that the kernel is just removing, so it is refused, too.
#[test]
fn refused_while_a_breakpoint_is_set() {
    passes(|| {
        static_key! { static KEY: false; }
        set_writer(Some(WriterKind::Remap));
        let check = &Check { key: &KEY, run: || static_branch_unlikely!(KEY), first: Some(false) };
        let probe = Probe::set(By::Writes, check.site() - 1).unwrap();
        let error = KEY.enable().unwrap_err();
        assert!(matches!(error, Error::Denied { refused } if refused.of(WriterKind::Remap) == BUSY[0]), "{error}");
        drop(probe);
        succeeds(|| KEY.enable());
        assert!(check.is(true));
    });
}

#[cfg(jumplabel_trampolines)]
mod displacements {
    use super::*;

    /// Functions of one byte each.
    const RETURNS: usize = 256;
    core::arch::global_asm!(
        ".section .text.returns, \"ax\", @progbits",
        ".globl jumplabel_test_returns",
        "jumplabel_test_returns: .fill 256, 1, 0xc3",
        ".text"
    );

    jumplabel::static_call! { static CALL: extern "C" fn() = nothing; }

    extern "C" fn nothing() {}

    /// A displacement of ours can begin with the bytes of a probe, while its opcode is as in the file. Its page still moves. (If the writer did
    /// not know its own sites, it would refuse.)
    #[test]
    fn can_look_like_probes() {
        passes(|| {
            unsafe extern "C" {
                #[link_name = "jumplabel_test_returns"]
                static FUNCTIONS: [extern "C" fn(); 0];
            }
            set_writer(Some(WriterKind::Remap));
            // The address behind the jump.
            let end = *CALL as *const () as usize + if cfg!(target_arch = "x86_64") { 9 } else { 5 };
            for byte in [0xcc, 0xe8] {
                let first = (&raw const FUNCTIONS).addr();
                let one = (first..first + RETURNS).find(|one| one.wrapping_sub(end) % 256 == byte).unwrap();
                // SAFETY: a function that returns.
                let one: extern "C" fn() = unsafe { std::mem::transmute(one) };
                succeeds(|| CALL.update(one));
                assert_eq!(usize::from(bytes::<1>(end - 4)[0]), byte);
                succeeds(|| CALL.update(nothing));
            }
        });
    }
}
