//! Threads and a child, by the C library.

use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};

use jumplabel::{WriterKind, static_branch_likely};

use crate::VERIFY;

/// All of them.
pub const WRITERS: &[WriterKind] = &[WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap];

#[link(name = "c")]
unsafe extern "C" {
    fn fork() -> c_int;
    fn _exit(status: c_int) -> !;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn sched_yield() -> c_int;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        body: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int;
}

/// Starts the reader.
pub fn start() -> usize {
    extern "C" fn body(_: *mut c_void) -> *mut c_void {
        crate::reader();
        null_mut()
    }
    let mut thread = 0;
    // SAFETY: a place for the thread's name, and a function of the right type.
    unsafe { assert!(pthread_create(&raw mut thread, null(), body, null_mut()) == 0) };
    thread
}

/// Waits for its end.
pub fn join(thread: usize) {
    // SAFETY: a thread from `start`.
    unsafe { assert!(pthread_join(thread, null_mut()) == 0) };
}

/// Lets it run.
pub fn yield_now() {
    // SAFETY: no conditions.
    unsafe { sched_yield() };
}

/// A child is no part of what the parent does, and flips on its own.
pub fn child() {
    let mut status = 0;
    // SAFETY: the only thread.
    unsafe {
        let child = fork();
        if child == 0 {
            VERIFY.disable().unwrap();
            _exit(if static_branch_likely!(VERIFY) { 1 } else { 42 });
        }
        assert!(waitpid(child, &raw mut status, 0) == child && status == 42 << 8);
    }
}
