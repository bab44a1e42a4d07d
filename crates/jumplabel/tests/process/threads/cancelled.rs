//! Threads that are cancelled while they flip.

use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::set_writer;

use super::common;
use crate::scenario::{self, passes};
use crate::writers;

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

/// Flips while a cancellation of this thread is pending, with each writer.
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

/// A thread that is cancelled while it flips ends after the flip: to close a descriptor is a cancellation point.
#[test]
fn cancelled_threads() {
    passes(|| {
        cancelled();
        assert!(common().agree() && common().keys[1].enable().is_ok());
    });
}

/// musl ends the thread on the spot, with the lock; glibc unwinds its stack.
#[cfg(target_env = "gnu")]
mod broken_twin {
    use super::*;
    use crate::scenario::Scenario;
    use crate::twin::{Twin, install};
    use jumplabel::Error;
    use jumplabel::platform::{Token, builtin};

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

    #[test]
    fn lets_threads_be_cancelled() {
        Scenario::new().fails("cancelled in the middle of a flip", || {
            install(Cancellable);
            cancelled();
        });
    }
}

const PTHREAD_CANCEL_ASYNCHRONOUS: i32 = 1;

unsafe extern "C" {
    fn pthread_setcanceltype(kind: i32, old: *mut i32) -> i32;
}

static CHECKS: AtomicUsize = AtomicUsize::new(0);

/// Only checks, in a thread that may be ended at any instruction.
extern "C-unwind" fn check_for_ever(_: *mut libc::c_void) -> *mut libc::c_void {
    let mut before = 0;
    // SAFETY: writes to a place of ours; nothing below is harmed by the thread's end.
    unsafe { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut before) };
    loop {
        common().check(0);
        CHECKS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Flips while cancellation is off and an asynchronous one is pending, as a thread must do around flips.
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

/// A thread that is cancelled asynchronously may check. To flip, it must turn cancellation off, and a flip leaves it off.
#[test]
#[cfg_attr(
    target_arch = "arm",
    ignore = "its unwind tables are for calls, not for any instruction, so glibc ends the process"
)]
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
