//! A program.

use core::ffi::{c_int, c_void};

/// Names the calling thread. Not 0.
pub(crate) fn me() -> usize {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs() as usize
}

/// False where nothing is mapped at an address: a key whose object was unloaded. A look, no promise: it may go at once.
/// What the system refuses to tell is taken for mapped.
pub(crate) fn is_mapped<T>(at: *const T) -> bool {
    let page = jumplabel::platform::builtin().page_size();
    let start = (at as usize & !(page - 1)) as *mut c_void;
    // SAFETY: MS_ASYNC writes nothing and changes nothing; the kernel checks the range.
    let looked = unsafe { rustix::mm::msync(start, page, rustix::mm::MsyncFlags::ASYNC) };
    looked != Err(rustix::io::Errno::NOMEM)
}

unsafe extern "C" {
    /// Ends the process as a failed assertion does.
    #[allow(dead_code)] // Not on every target.
    pub(crate) safe fn abort() -> !;
}

/// Standard error.
pub(crate) fn print(text: &[u8]) {
    unsafe extern "C" {
        fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
    }
    // SAFETY: a slice. Nothing can be done where standard error is closed.
    unsafe { write(2, text.as_ptr().cast(), text.len()) };
}
