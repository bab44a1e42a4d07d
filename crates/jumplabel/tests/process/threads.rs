//! Threads that flip at once, the same keys and keys of their own, and threads that are to end while they flip.

#[path = "threads/cancelled.rs"]
mod cancelled;

use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::platform::{Token, builtin};
use jumplabel::{Error, Lock, set_writer};

use crate::scenario::{self, Scenario, fork, passes, reap};
use crate::twin::{Twin, install};
use crate::writers;

crate::pages::pages! { common: 2 keys, 6 sites, every 1 pages, at 4093 }
crate::pages::pages! { own: 4 keys, 8 sites, every 1 pages, at 0 }

/// The first thread of a process stays as a zombie as long as others run.
#[test]
fn the_first_thread_ends_with_the_lock() {
    passes(|| {
        reap(fork(|| {
            std::mem::forget(Lock::take().unwrap());
            std::thread::spawn(|| scenario::end(|| common().set(true).is_ok() && common().all(true)));
            // SAFETY: ends this thread alone, without what it has on its stack, which lives until the process ends.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
            unreachable!()
        }));
    });
}

/// The promise of `inc`: when it returns the key is on, on this thread too, until the matching `dec`.
#[test]
fn the_same_key_and_different_keys() {
    passes(|| {
        let rounds = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let rounds = &rounds;
                scope.spawn(move || {
                    for round in 0..scenario::rounds(400) {
                        let key = &common().keys[(thread + round) % 2];
                        key.inc().unwrap();
                        let mine = |number: &usize| number % 2 == (thread + round) % 2;
                        assert!((0..6).filter(mine).all(|number| common().check(number)) && key.is_enabled());
                        let on = round % 2 == 0;
                        let single = &own().keys[thread];
                        if on { single.enable() } else { single.disable() }.unwrap();
                        assert!(own().check(thread) == on && own().check(thread + 4) == on);
                        key.dec().unwrap();
                        let number = rounds.fetch_add(1, Ordering::Relaxed);
                        set_writer(writers::turn(number));
                    }
                });
            }
        });
        assert!(common().all(false) && own().all(false) && common().agree() && own().agree());
        assert!(common().keys.iter().all(|key| key.count() == 0));
    });
}

/// Threads that come and go while others flip, pristine sites included.
#[test]
fn threads_that_come_and_go() {
    passes(|| {
        for round in 0..2 * scenario::rounds(30) {
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        let key = &own().keys[thread];
                        if round % 2 == 0 { key.enable() } else { key.disable() }.unwrap();
                        assert_eq!(own().check(thread), round % 2 == 0);
                        if round % 2 == 1 {
                            jumplabel::restore_pristine(key).unwrap();
                        }
                    });
                }
            });
        }
        assert!(own().all(false));
    });
}

/// The first thread of a process has ended: /proc/self has no memory and no maps any more. Each writer still works, and the map is read as before.
#[test]
fn the_first_thread_has_ended() {
    passes(|| {
        reap(fork(|| {
            // SAFETY: the number of this thread, which is this process's first.
            let first = unsafe { libc::getpid() };
            std::thread::spawn(move || {
                let ended = || std::fs::read_to_string(format!("/proc/{first}/stat")).unwrap().contains(") Z ");
                while !ended() {
                    std::thread::yield_now();
                }
                let emptied = std::fs::read("/proc/self/maps").map_or(true, |maps| maps.is_empty());
                scenario::end(|| {
                    let well = writers::all().into_iter().flatten().all(|writer| {
                        set_writer(Some(writer));
                        let flips = [true, false].map(|on| common().set(on).is_ok_and(|it| it.writer == Some(writer)));
                        flips == [true; 2] && common().all(false)
                    });
                    emptied && well
                })
            });
            // SAFETY: ends this thread only, without a word to the C library.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
            false
        }));
    });
}

/// Signals that came to a thread that waits.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn take(_signal: i32) {
    TAKEN.fetch_add(1, Ordering::SeqCst);
}

/// One thread has the lock, another waits for it to flip and is sent signals.
fn sent_to_a_waiting_thread(signal: i32) {
    // SAFETY: a handler that adds to a number.
    unsafe { libc::signal(signal, take as *const () as usize) };
    let (waits, done, held) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        // The thread is started without the lock: a thread that has the lock blocks signals, and its new threads inherit that.
        scope.spawn(|| {
            while held.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            // SAFETY: the thread's own name.
            waits.store(unsafe { libc::pthread_self() } as usize, Ordering::SeqCst);
            common().set(true).unwrap();
            done.store(1, Ordering::SeqCst);
        });
        let lock = Lock::take().unwrap();
        held.store(1, Ordering::SeqCst);
        // Wherever that thread is by now, some of the signals meet it asleep.
        while TAKEN.load(Ordering::SeqCst) < 50 {
            let thread = waits.load(Ordering::SeqCst);
            if thread != 0 {
                // SAFETY: a thread that runs until the lock is dropped.
                unsafe { libc::pthread_kill(thread as libc::pthread_t, signal) };
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(done.load(Ordering::SeqCst), 0, "a flip does not wait for the lock");
        drop(lock);
    });
    assert!(common().all(true));
}

#[test]
fn waiting_threads_take_signals() {
    passes(|| sent_to_a_waiting_thread(libc::SIGUSR1));
}

/// A platform whose lock blocks signals, and then waits.
struct Deaf;

impl Twin for Deaf {
    fn lock(&self) -> Result<Token, Error> {
        // SAFETY: sets of signals, which are plain numbers.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        }
        builtin().lock()
    }
}

#[test]
fn broken_twin_waits_without_signals() {
    Scenario::new().hangs(|| {
        install(Deaf);
        sent_to_a_waiting_thread(libc::SIGUSR1);
    });
}
