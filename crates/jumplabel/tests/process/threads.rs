//! Threads that flip at once, the same keys and keys of their own, and threads that are to end while they flip.

use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::text::{Token, builtin};
use jumplabel::{Error, Lock, set_writer};

use crate::scenario::{self, Scenario, fork, passes, reap};
use crate::twin::{Twin, install};
use crate::writers;

crate::pages::pages! { common: 2 keys, 6 sites, every 1 pages, at 4093 }
crate::pages::pages! { own: 4 keys, 8 sites, every 1 pages, at 0 }

/// What `inc` promises: when it returns the key is on, on this thread too, until the matching `dec`.
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
                            jumplabel::settle(key).unwrap();
                        }
                    });
                }
            });
        }
        assert!(own().all(false));
    });
}

const PTHREAD_CANCEL_ENABLE: i32 = 0;
const PTHREAD_CANCEL_DISABLE: i32 = 1;

type Start = extern "C-unwind" fn(*mut libc::c_void) -> *mut libc::c_void;

unsafe extern "C" {
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const (),
        start: Start,
        data: *mut libc::c_void,
    ) -> i32;
    fn pthread_cancel(thread: libc::pthread_t) -> i32;
    fn pthread_setcancelstate(state: i32, old: *mut i32) -> i32;
}

/// Flips with a cancellation pending, by each writer.
extern "C-unwind" fn flip_cancelled(_: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: this thread, which does nothing between here and the end that a cancellation could interrupt, but flip.
    unsafe { pthread_cancel(libc::pthread_self()) };
    let flips = writers::all().into_iter().filter(|&writer| {
        set_writer(writer);
        common().keys[0].enable().is_ok() && common().keys[0].disable().is_ok()
    });
    let flips = flips.count();
    let mut state = -1;
    // SAFETY: writes to a place of ours.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut state) };
    assert_eq!(state, PTHREAD_CANCEL_ENABLE, "the state is not what it was");
    FLIPS.store(flips, Ordering::SeqCst);
    std::ptr::null_mut()
}

static FLIPS: AtomicUsize = AtomicUsize::new(0);

fn cancelled() {
    // SAFETY: a thread, waited for.
    unsafe {
        let mut thread = std::mem::zeroed();
        let nothing = std::ptr::null_mut();
        assert_eq!(pthread_create(&raw mut thread, std::ptr::null(), flip_cancelled, nothing), 0);
        let mut result = nothing;
        assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
        assert!(result.is_null(), "cancelled in the middle of a flip");
    }
    assert_eq!(FLIPS.load(Ordering::SeqCst), writers::all().len());
}

/// A thread that is cancelled while it flips ends behind the flip: to close a descriptor is a cancellation point.
#[test]
fn cancelled_threads() {
    passes(|| {
        cancelled();
        assert!(common().agree() && common().keys[1].enable().is_ok());
    });
}

/// The first thread of a process has ended: /proc/self has no memory and no maps any more. Each writer goes on all the same, and
/// the map says what it said before.
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

/// Takes the lock and lets the thread be cancelled.
struct Cancellable;

impl Twin for Cancellable {
    fn lock(&self) -> Result<Token, Error> {
        let token = builtin().lock()?;
        let mut state = 0;
        // SAFETY: writes to a place of ours.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &raw mut state) };
        Ok(token)
    }
}

/// musl ends the thread on the spot, with the lock; glibc unwinds its stack.
#[test]
#[cfg(target_env = "gnu")]
fn broken_twin_lets_threads_be_cancelled() {
    Scenario::new().fails("cancelled in the middle of a flip", || {
        install(Cancellable);
        cancelled();
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
        // Started without the lock: who has it blocks signals, and hands that down.
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
        // However far it has come by now, some of the signals meet it asleep.
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

/// Blocks signals, then waits.
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

const PTHREAD_CANCEL_ASYNCHRONOUS: i32 = 1;

unsafe extern "C" {
    fn pthread_setcanceltype(kind: i32, old: *mut i32) -> i32;
}

static CHECKS: AtomicUsize = AtomicUsize::new(0);

/// Nothing but checks, and the thread may be ended at any instruction.
extern "C-unwind" fn check_for_ever(_: *mut libc::c_void) -> *mut libc::c_void {
    let mut before = 0;
    // SAFETY: writes to a place of ours; nothing below is harmed by the thread's end.
    unsafe { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut before) };
    loop {
        common().check(0);
        CHECKS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Flips with an asynchronous cancellation pending that is off, as a thread must have it around them.
extern "C-unwind" fn flip_with_cancellation_off(_: *mut libc::c_void) -> *mut libc::c_void {
    let (mut state, mut kind) = (-1, -1);
    // SAFETY: writes to places of ours; the thread's own cancellation, which stays off.
    unsafe {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut state);
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut kind);
        pthread_cancel(libc::pthread_self());
    }
    for _ in 0..100 {
        common().keys[0].inc().unwrap();
        common().keys[0].dec().unwrap();
    }
    // SAFETY: as above.
    unsafe {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut kind);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut state);
    }
    assert_eq!((kind, state), (PTHREAD_CANCEL_ASYNCHRONOUS, PTHREAD_CANCEL_DISABLE), "not what they were");
    FLIPS.store(100, Ordering::SeqCst);
    std::ptr::null_mut()
}

/// A thread that is cancelled asynchronously may check; it must turn cancellation off to flip, and a flip leaves it so.
#[test]
fn cancelled_asynchronously() {
    passes(|| {
        let nothing = std::ptr::null_mut();
        let start = |body: Start| {
            // SAFETY: all zeroes is a place to write to; a thread that is waited for below.
            unsafe {
                let mut thread = std::mem::zeroed();
                assert_eq!(pthread_create(&raw mut thread, std::ptr::null(), body, nothing), 0);
                thread
            }
        };
        // SAFETY: threads of ours, each waited for once.
        let join = |thread| unsafe {
            let mut result = nothing;
            assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
            result
        };
        for _ in 0..scenario::rounds(20) {
            CHECKS.store(0, Ordering::Relaxed);
            let thread = start(check_for_ever);
            while CHECKS.load(Ordering::Relaxed) < 100 {
                common().keys[0].inc().unwrap();
                common().keys[0].dec().unwrap();
            }
            // SAFETY: it runs.
            unsafe { pthread_cancel(thread) };
            assert!(!join(thread).is_null(), "was not cancelled");
        }
        assert!(join(start(flip_with_cancellation_off)).is_null(), "cancelled though that is off");
        assert_eq!(FLIPS.load(Ordering::SeqCst), 100);
        assert!(common().agree() && common().keys[0].enable().is_ok());
    });
}
