//! Threads of the library's own, and how a thread waits. The C library starts them, with std and without: it is there in any program for Linux.

use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut};
use core::time::Duration;

use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep, sched_yield, set_name};

use super::libc;

/// A thread that ends when its body returns.
pub(crate) struct Thread {
    pub(crate) name: &'static CStr,
    pub(crate) body: fn(),
}

impl Thread {
    /// Whether the thread runs: the system may refuse.
    pub(crate) fn start(&'static self) -> bool {
        let mut thread = 0;
        // SAFETY: no attributes, a function of the right type, and a static for it. Nobody else joins or detaches the thread.
        unsafe {
            let started =
                libc::pthread_create(&raw mut thread, null(), begin, core::ptr::from_ref(self).cast_mut().cast());
            started == 0 && libc::pthread_detach(thread) == 0
        }
    }
}

extern "C" fn begin(thread: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes a static.
    let thread = unsafe { &*thread.cast::<Thread>() };
    let _ = set_name(thread.name); // For people alone.
    (thread.body)();
    null_mut()
}

/// Sleeps. A signal does not end it.
pub(crate) fn pause(time: Duration) {
    let mut left = Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos().into() };
    while let NanosleepRelativeResult::Interrupted(rest) = nanosleep(&left) {
        left = rest;
    }
}

/// Lets another thread run.
pub(crate) fn give_way() {
    sched_yield();
}

/// The number of this process.
pub(crate) fn process() -> u32 {
    libc::getpid()
}
