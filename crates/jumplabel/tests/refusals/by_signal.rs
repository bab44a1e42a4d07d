//! Core sync by signal, for programs that opt in and may not use membarrier.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use jumplabel::platform::{core_sync_by_signal, core_sync_handler};
use jumplabel::{Visibility, set_writer};

use crate::core_sync::{ALLOWED, WRITERS, without_membarrier};
use crate::scenario::passes;

crate::pages::pages! { sites: 2 keys, 4 sites, every 1 pages, at 4093 }

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handler(_signal: i32) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the handler of the signal that core sync sends.
    unsafe { core_sync_handler() };
}

fn opt_in(signal: i32) {
    // SAFETY: installs the handler that the library asks for; nothing else sends this signal.
    unsafe {
        install(signal, handler);
        core_sync_by_signal(signal);
    }
}

/// # Safety
/// `handler` does what a handler of `signal` may do.
unsafe fn install(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: `action` is a whole structure, and the caller speaks for the handler.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// A program that opted in gets the same promise by signals: pristine sites, all writers, immediately.
#[test]
fn by_signal() {
    passes(|| {
        opt_in(libc::SIGRTMIN() + 3);
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::black_box(sites().all(true));
                        std::thread::yield_now();
                    }
                });
            }
            without_membarrier(&[], || {
                for writer in WRITERS {
                    set_writer(writer);
                    for on in [true, false] {
                        let outcome = sites().set(on).unwrap();
                        assert!(sites().all(on));
                        assert_eq!(outcome.visibility, Visibility::Immediate, "{outcome:?}");
                    }
                    sites().restore_pristine();
                }
            });
            stop.store(true, Ordering::Relaxed);
        });
        assert!(HANDLED.load(Ordering::SeqCst) > 40);
    });
}

/// Calls `body` on a thread that may not use membarrier. `signal` is the signal of core sync, which another thread blocks meanwhile.
fn while_a_thread_blocks(signal: i32, body: impl FnOnce() + Send) {
    let [there, done] = [(); 2].map(|()| Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: this thread's mask.
            unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&raw mut set, signal);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            }
            there.wait();
            done.wait();
        });
        there.wait();
        without_membarrier(&[], body);
        done.wait();
    });
}

/// A thread never answers: the flip gives up on it, says so, and does not ask it again.
#[test]
fn by_signal_that_a_thread_blocks() {
    passes(|| {
        let signal = libc::SIGRTMIN() + 3;
        opt_in(signal);
        sites().set(true).unwrap();
        while_a_thread_blocks(signal, || {
            for on in [false, true, false] {
                assert_eq!(sites().set(on).unwrap().visibility, Visibility::Eventual);
                assert!(sites().all(on));
            }
        });
        assert_eq!(sites().set(true).unwrap().visibility, ALLOWED);
    });
}

/// Signals do not make a flip wait longer for a thread that never answers. (The flip blocks all signals except SIGSYS.)
#[test]
fn by_signal_with_interruptions() {
    /// The signals that are sent if the flip does not end before: for six seconds.
    const MOST: u32 = 20;
    extern "C" fn interrupted(_signal: i32) {}
    passes(|| {
        let signal = libc::SIGRTMIN() + 3;
        opt_in(signal);
        // SAFETY: the handler does nothing.
        unsafe { install(libc::SIGSYS, interrupted) };
        sites().set(true).unwrap();
        let mut sent = 0;
        while_a_thread_blocks(signal, || {
            let has_ended = AtomicBool::new(false);
            // SAFETY: no conditions.
            let flipping = unsafe { libc::pthread_self() } as usize;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while sent < MOST && !has_ended.load(Ordering::SeqCst) {
                        // SAFETY: the thread waits for this one at the end of the scope.
                        assert_eq!(unsafe { libc::pthread_kill(flipping as libc::pthread_t, libc::SIGSYS) }, 0);
                        sent += 1;
                        std::thread::sleep(Duration::from_millis(300));
                    }
                });
                assert_eq!(sites().set(false).unwrap().visibility, Visibility::Eventual);
                has_ended.store(true, Ordering::SeqCst);
            });
        });
        assert!(sent < MOST, "the flip has waited until no signal came any more");
    });
}
