//! Turns off the cancellation (`pthread_cancel`) of a thread while it holds the lock.
//!
//! A flip closes descriptors, and that is a cancellation point. Other system calls of a flip are cancellation points, too, if `rustix` makes them
//! through the C library. A thread that was cancelled in mid-flip would leave sites that are written and counts that are not, and other threads would
//! find pointers to its stack, which no longer exists.
//!
//! The lock's token contains the thread's previous state of cancellation. The C library's `pthread_setcancelstate` makes no system call, and is safe
//! in signal handlers.

use core::ffi::c_int;

use crate::platform::linux::libc;

/// Turns cancellation of the calling thread off, and returns the previous state. Called before the thread takes the lock.
pub(super) fn disable() -> c_int {
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: the call only writes a number to a local variable, and changes a setting of this thread.
    unsafe { libc::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
    before
}

/// Restores the state that [`disable`] returned. The thread must not have the lock any more: if it is cancelled asynchronously, it ends in this call.
pub(super) fn restore(before: c_int) {
    let mut now = 0;
    // SAFETY: the call only writes a number to a local variable, and changes a setting of this thread.
    unsafe { libc::pthread_setcancelstate(before, &raw mut now) };
}
