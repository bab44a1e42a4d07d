//! Cancellation (`pthread_cancel`) of the calling thread, off while it holds the lock.
//!
//! To close a descriptor is a cancellation point, and so are more calls where `rustix` goes by way of the C library. A thread
//! that ended there would leave sites that are written and counts that are not, and a note of requests on a stack that is gone.
//!
//! What the thread had before is kept in a static: it belongs to whoever holds the lock. The C library's `pthread_setcancelstate`
//! makes no system call, and is safe in signal handlers.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use super::libc;

static BEFORE: AtomicI32 = AtomicI32::new(0);

/// Off, under the lock.
pub(super) fn disable() {
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: writes a number to a place of ours.
    unsafe { libc::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
    BEFORE.store(before, Ordering::Relaxed);
}

/// What [`disable`] found; the lock is still held.
pub(super) fn before() -> c_int {
    BEFORE.load(Ordering::Relaxed)
}

/// Back to what was before, without the lock: a thread that is cancelled asynchronously ends here.
pub(super) fn restore(before: c_int) {
    let mut now = 0;
    // SAFETY: as above.
    unsafe { libc::pthread_setcancelstate(before, &raw mut now) };
}
