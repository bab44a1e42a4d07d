//! Services of the system for a Linux program.

use core::ffi::{c_int, c_void};

/// The number of the calling thread, never 0.
pub(crate) fn me() -> usize {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs() as usize
}

/// False if nothing is mapped at the address, for example because the key's object was unloaded. The mapping may go at any time after this. True if
/// the system refuses to say.
pub(crate) fn is_mapped<T>(at: *const T) -> bool {
    let page = jumplabel::platform::builtin().page_size();
    let start = (at as usize & !(page - 1)) as *mut c_void;
    // SAFETY: MS_ASYNC writes nothing and changes nothing; the kernel checks the range.
    let looked = unsafe { rustix::mm::msync(start, page, rustix::mm::MsyncFlags::ASYNC) };
    looked != Err(rustix::io::Errno::NOMEM)
}

unsafe extern "C" {
    /// Ends the process as a failed assertion does.
    #[allow(dead_code)] // not used on every target
    pub(crate) safe fn abort() -> !;
}

/// Prints on standard error.
pub(crate) fn print(text: &[u8]) {
    unsafe extern "C" {
        fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
    }
    // SAFETY: the pointer and the length are those of a slice. If standard error is closed, nothing can be done.
    unsafe { write(2, text.as_ptr().cast(), text.len()) };
}
