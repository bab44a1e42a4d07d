//! The places from which flips come: signal handlers, handlers of `fork`, constructors, the thread of deferred keys. Each in a process of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

use jumplabel::platform::{Token, builtin};
use jumplabel::{AskedBy, Changed, Error, RawKey, on_change, static_key};
use jumplabel_testing::scenario::{Scenario, end, fork, passes, reap};
use jumplabel_testing::twin::{Twin, install};

use crate::{List, told};

static_key! { static KEY: false; static OTHER: false; }

static CALLS: AtomicUsize = AtomicUsize::new(0);

fn count(_: &Changed<'_>, _: AskedBy) {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

static COUNT: fn(&Changed<'_>, AskedBy) = count;

fn calls() -> usize {
    CALLS.swap(0, Ordering::Relaxed)
}

#[test]
fn in_a_signal_handler() {
    extern "C" fn flip(_: i32) {
        KEY.enable().unwrap();
        assert_eq!(calls(), 1);
        KEY.disable().unwrap();
    }
    passes(|| {
        KEY.on_change(&COUNT).unwrap();
        // SAFETY: a handler that flips, which is allowed there.
        unsafe { libc::signal(libc::SIGUSR1, flip as *const () as libc::sighandler_t) };
        // SAFETY: the handler runs before this returns.
        unsafe { libc::raise(libc::SIGUSR1) };
        assert_eq!(calls(), 1);
    });
}

/// A signal comes while a function runs. Functions are told of that function's flips and of the handler's, because nobody has the lock. The
/// function is called with the signals that the flipping thread allows.
#[test]
fn a_signal_in_a_call() {
    extern "C" fn flip(_: i32) {
        OTHER.enable().unwrap();
    }
    passes(|| {
        OTHER.on_change(&COUNT).unwrap();
        KEY.on_change(&|_, _| {
            // SAFETY: the handler runs before this returns, unless the signal is blocked.
            unsafe { libc::raise(libc::SIGUSR1) };
            assert_eq!(calls(), 1);
        })
        .unwrap();
        // SAFETY: a handler that flips, which is allowed there.
        unsafe { libc::signal(libc::SIGUSR1, flip as *const () as libc::sighandler_t) };
        KEY.enable().unwrap();
        assert!(OTHER.is_enabled());
    });
}

/// A child keeps the functions, and does not count calls in which its parent's other threads are; the parent does.
#[test]
fn in_a_child_of_fork() {
    static IS_IN: AtomicBool = AtomicBool::new(false);
    static LEAVE: AtomicBool = AtomicBool::new(false);
    passes(|| {
        let count = OTHER.on_change(&COUNT).unwrap();
        let waits = KEY
            .on_change(&|_, _| {
                IS_IN.store(true, Ordering::SeqCst);
                while !LEAVE.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            })
            .unwrap();
        let flips = std::thread::spawn(|| KEY.enable().unwrap());
        while !IS_IN.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        reap(fork(|| {
            let running = waits.remove();
            KEY.disable().unwrap();
            OTHER.enable().unwrap();
            (running, calls(), count.remove()) == (0, 1, 0)
        }));
        assert_eq!((waits.remove(), calls()), (1, 0));
        LEAVE.store(true, Ordering::SeqCst);
        flips.join().unwrap();
        assert_eq!(waits.remove(), 0);
    });
}

/// A function that forks: in the child, its call comes to its end as in the parent.
#[test]
fn a_fork_in_a_call() {
    static IS_CHILD: AtomicBool = AtomicBool::new(false);
    passes(|| {
        KEY.on_change(&|_, _| {
            // SAFETY: the child goes on as the parent does.
            match unsafe { libc::fork() } {
                0 => IS_CHILD.store(true, Ordering::Relaxed),
                child => reap(child),
            }
        })
        .unwrap();
        OTHER.on_change(&COUNT).unwrap();
        KEY.enable().unwrap();
        OTHER.enable().unwrap();
        assert_eq!(calls(), 1);
        if IS_CHILD.load(Ordering::Relaxed) {
            end(|| true);
        }
    });
}

/// Handlers of `fork` that flip, before and after the fork.
#[test]
fn in_handlers_of_fork() {
    extern "C" fn flip() {
        let before = CALLS.load(Ordering::Relaxed);
        KEY.enable().unwrap();
        KEY.disable().unwrap();
        assert_eq!(CALLS.load(Ordering::Relaxed), before + 2);
    }
    passes(|| {
        KEY.on_change(&COUNT).unwrap();
        // SAFETY: handlers that flip, which is allowed there.
        assert_eq!(unsafe { libc::pthread_atfork(Some(flip), Some(flip), Some(flip)) }, 0);
        reap(fork(|| calls() == 4));
        assert_eq!(calls(), 4);
    });
}

/// A constructor of the program registers a function, and flips. The function stays registered.
mod constructor {
    use super::{AskedBy, Changed, List, Ordering, told};

    pub static FLIPPED: List = List::new();
    jumplabel::static_key! { pub static EARLY: false; }

    #[used]
    #[unsafe(link_section = ".init_array.00200")]
    static CONSTRUCTOR: extern "C" fn() = {
        extern "C" fn constructor() {
            if super::is_registering() {
                EARLY.on_change(&|changed: &Changed<'_>, by: AskedBy| FLIPPED.note(changed, by)).unwrap();
                EARLY.enable().unwrap();
                super::CALLS.store(FLIPPED.0.lock().unwrap().len(), Ordering::Relaxed);
            }
        }
        constructor
    };
    const _: fn(&Changed<'_>, AskedBy) -> super::super::Told = told;
}

/// Whether this is the scenario's process: the constructor runs in every process.
fn is_registering() -> bool {
    // SAFETY: a string.
    !unsafe { libc::getenv(c"JUMPLABEL_TEST_EARLY".as_ptr()) }.is_null()
}

#[test]
fn in_a_constructor() {
    Scenario::new().env("JUMPLABEL_TEST_EARLY", "1").passes(|| {
        assert_eq!((calls(), constructor::FLIPPED.take().len()), (1, 1));
        constructor::EARLY.disable().unwrap();
        assert_eq!(constructor::FLIPPED.take(), [(constructor::EARLY.address(), 0, AskedBy::Program)]);
    });
}

/// The library's thread tells functions of a deferred `dec`; the caller's thread tells them of a `flush`.
#[test]
fn of_deferred_keys() {
    static_key! {
        static AT_ONCE: false, deferred core::time::Duration::ZERO;
        static NEVER: false, deferred core::time::Duration::from_secs(3600);
    }
    static THREADS: Mutex<Vec<(bool, ThreadId)>> = Mutex::new(Vec::new());
    passes(|| {
        for key in [AT_ONCE.raw(), NEVER.raw()] {
            key.on_change(&|changed: &Changed<'_>, by| {
                let (_, state, by) = told(changed, by);
                assert_eq!(by, AskedBy::Program);
                THREADS.lock().unwrap().push((state != 0, std::thread::current().id()));
            })
            .unwrap();
        }
        let here = std::thread::current().id();
        AT_ONCE.inc().unwrap();
        AT_ONCE.dec_deferred().unwrap();
        while THREADS.lock().unwrap().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let told = std::mem::take(&mut *THREADS.lock().unwrap());
        assert!(told[0] == (true, here) && !told[1].0 && told[1].1 != here, "{told:?}");
        NEVER.inc().unwrap();
        NEVER.dec_deferred().unwrap();
        NEVER.flush().unwrap().unwrap();
        assert_eq!(*THREADS.lock().unwrap(), [(true, here), (false, here)]);
    });
}

/// A probe's function may wait for probes in the call for the tracepoint's key.
#[test]
fn of_tracepoints() {
    jumplabel::tracepoint! { on_change, point(number: u32); }
    passes(|| {
        on_change(&|changed: &Changed<'_>, by| {
            jumplabel::synchronize_probes().unwrap();
            count(changed, by);
        })
        .unwrap();
        let probes: Vec<_> = (0..3).map(|_| point.add(|_| ()).unwrap()).collect();
        assert_eq!(calls(), 1);
        jumplabel::emit!(point, 1);
        probes.into_iter().for_each(|probe| _ = probe.remove().unwrap());
        assert_eq!(calls(), 1);
    });
}

/// A twin that calls functions before it has released the lock.
struct UnderTheLock;

impl Twin for UnderTheLock {
    fn unlock(&self, token: Token) {
        if !IS_WATCHED.load(Ordering::Relaxed) {
            // SAFETY: called as `Platform::unlock` is.
            unsafe { builtin().unlock(token) };
        }
    }
}

static IS_WATCHED: AtomicBool = AtomicBool::new(false);

fn a_call_that_flips() {
    KEY.on_change(&|_, _| _ = OTHER.enable().unwrap()).unwrap();
    IS_WATCHED.store(true, Ordering::Relaxed);
    KEY.enable().unwrap();
    assert!(OTHER.is_enabled());
}

/// Like the test above, and another thread flips during the call.
fn a_call_that_waits_for_a_flip() {
    KEY.on_change(&|_, _| {
        let flips = || RawKey::enable(&OTHER).map_err(|error: Error| error.to_string()).unwrap();
        std::thread::scope(|scope| _ = scope.spawn(flips).join().unwrap());
    })
    .unwrap();
    IS_WATCHED.store(true, Ordering::Relaxed);
    KEY.enable().unwrap();
    assert!(OTHER.is_enabled());
}

#[test]
fn without_the_lock() {
    passes(|| {
        a_call_that_flips();
    });
}

#[test]
fn without_the_lock_twin() {
    Scenario::new().fails("Reentrant", || {
        install(UnderTheLock);
        a_call_that_flips();
    });
}

#[test]
fn without_the_lock_of_another_thread() {
    passes(|| {
        a_call_that_waits_for_a_flip();
    });
}

#[test]
fn without_the_lock_of_another_thread_twin() {
    Scenario::new().hangs(|| {
        install(UnderTheLock);
        a_call_that_waits_for_a_flip();
    });
}
