//! Turns off cancellation (`pthread_cancel`) of the calling thread while the thread holds the lock.
//!
//! To close a descriptor is a cancellation point. Other calls are cancellation points, too, if `rustix` makes them through the C library. If a
//! thread were cancelled there, its sites would be written, its counts would not, and references to its stack would remain after the stack is gone.
//!
//! The previous state of the thread is a part of the lock's token. The C library's `pthread_setcancelstate` makes no system call, and is safe in
//! signal handlers.

use core::ffi::c_int;

use crate::platform::linux::libc;

/// Turns cancellation off, before the lock is taken. Returns the previous state.
pub(super) fn disable() -> c_int {
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: the call writes a number to a local variable.
    unsafe { libc::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
    before
}

/// Restores the previous state. The thread must not have the lock, because a thread that is cancelled asynchronously ends here.
pub(super) fn restore(before: c_int) {
    let mut now = 0;
    // SAFETY: the call writes a number to a local variable.
    unsafe { libc::pthread_setcancelstate(before, &raw mut now) };
}
