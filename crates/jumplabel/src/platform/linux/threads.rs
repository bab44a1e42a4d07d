//! Threads that run code of the library, and functions to wait. The C library starts the threads, because every program for Linux has a C library,
//! even one without std.

use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut};
use core::time::Duration;

use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep, sched_yield, set_name};

use super::libc;

/// A thread of the library, which ends when its body returns.
pub(crate) struct Thread {
    pub(crate) name: &'static CStr,
    pub(crate) body: fn(),
}

impl Thread {
    /// Starts the thread. Returns false if the system refuses.
    pub(crate) fn start(&'static self) -> bool {
        let mut thread = 0;
        // SAFETY: `begin` gets the address of a static `Thread`, as it expects. Only this function knows the new thread's handle, so no other code
        // joins or detaches the thread.
        unsafe {
            let started =
                libc::pthread_create(&raw mut thread, null(), begin, core::ptr::from_ref(self).cast_mut().cast());
            started == 0 && libc::pthread_detach(thread) == 0
        }
    }
}

extern "C" fn begin(thread: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes the address of a static `Thread`.
    let thread = unsafe { &*thread.cast::<Thread>() };
    let _ = set_name(thread.name); // An error does no harm: the name is only for people.
    (thread.body)();
    null_mut()
}

/// Sleeps for `time`. A signal does not end the sleep early.
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
