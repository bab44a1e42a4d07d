//! Cancellation (`pthread_cancel`) of the calling thread, off while it holds the lock.
//!
//! Closing a descriptor is a cancellation point, and so are more calls if `rustix` calls the C library for them. A thread that ended
//! there would leave sites that are written, counts that are not, and references to a stack that is gone.
//!
//! The state that the thread had before is a part of the lock's token. The C library's `pthread_setcancelstate` makes no system call, and is
//! safe in signal handlers.

use core::ffi::c_int;

use crate::platform::linux::libc;

/// Off, before the lock is taken; what was before.
pub(super) fn disable() -> c_int {
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: writes a number to a place of ours.
    unsafe { libc::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
    before
}

/// Back to what was before, without the lock: a thread that is cancelled asynchronously ends here.
pub(super) fn restore(before: c_int) {
    let mut now = 0;
    // SAFETY: writes a number to a place of ours.
    unsafe { libc::pthread_setcancelstate(before, &raw mut now) };
}
