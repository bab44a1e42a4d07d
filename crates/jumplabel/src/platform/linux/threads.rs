//! Threads of the library's own, and waiting. The C library starts the threads, with and without std: every program for Linux has a C library.

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
    /// Starts the thread. Returns whether it runs, because the system may refuse.
    pub(crate) fn start(&'static self) -> bool {
        let mut thread = 0;
        // SAFETY: the call passes no attributes, a function of the right type, and a static for it. No other code joins or detaches the thread.
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
    let _ = set_name(thread.name); // The name is only for people.
    (thread.body)();
    null_mut()
}

/// Sleeps for `time`. A signal does not end the sleep.
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
    libc::process()
}
