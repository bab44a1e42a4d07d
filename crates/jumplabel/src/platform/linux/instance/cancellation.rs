//! Turns off cancellation (`pthread_cancel`) of the calling thread while it holds the lock.
//!
//! To close a descriptor is a cancellation point. So are other calls, where `rustix` makes them through the C library. A thread that is
//! cancelled there would leave sites that are written, counts that are not, and references to a stack that does not exist any more.
//!
//! The thread's state from before is a part of the lock's token. The C library's `pthread_setcancelstate` makes no system call, and is safe
//! in signal handlers.

use core::ffi::c_int;

use crate::platform::linux::libc;

/// Turns cancellation off, before the lock is taken. Returns the state from before.
pub(super) fn disable() -> c_int {
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: the call writes a number to a local variable.
    unsafe { libc::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
    before
}

/// Goes back to the state from before. The thread must not have the lock: a thread that is cancelled asynchronously ends here.
pub(super) fn restore(before: c_int) {
    let mut now = 0;
    // SAFETY: the call writes a number to a local variable.
    unsafe { libc::pthread_setcancelstate(before, &raw mut now) };
}
