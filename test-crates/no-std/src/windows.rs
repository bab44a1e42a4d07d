//! A thread, by kernel32. There are no forks.

use core::ffi::c_void;
use core::ptr::null_mut;

use jumplabel::WriterKind;

/// The only one.
pub const WRITERS: &[WriterKind] = &[WriterKind::Mprotect];

#[link(name = "kernel32")]
unsafe extern "system" {
    fn CreateThread(
        attributes: *const c_void,
        stack: usize,
        body: extern "system" fn(*mut c_void) -> u32,
        argument: *mut c_void,
        flags: u32,
        number: *mut u32,
    ) -> isize;
    fn WaitForSingleObject(handle: isize, milliseconds: u32) -> u32;
    safe fn SwitchToThread() -> i32;
}

/// Starts the reader.
pub fn start() -> isize {
    extern "system" fn body(_: *mut c_void) -> u32 {
        crate::reader();
        0
    }
    // SAFETY: a function of the right type.
    let thread = unsafe { CreateThread(null_mut(), 0, body, null_mut(), 0, null_mut()) };
    assert!(thread != 0);
    thread
}

/// Waits for its end.
pub fn join(thread: isize) {
    const INFINITE: u32 = u32::MAX;
    // SAFETY: a thread from `start`.
    assert!(unsafe { WaitForSingleObject(thread, INFINITE) } == 0);
}

/// Lets it run.
pub fn yield_now() {
    SwitchToThread();
}

/// There is none.
pub fn child() {}
