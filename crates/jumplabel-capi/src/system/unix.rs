//! Services of the system for a program on Linux or on another Unix.

use core::ffi::{c_int, c_void};

/// The number of the calling thread, never 0.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn me() -> usize {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs() as usize
}

/// The number of the calling thread, never 0. The lock of the fallback recognises its owner by the same number.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn me() -> usize {
    jumplabel::platform::builtin().thread()
}

#[cfg(target_os = "linux")]
fn page_size() -> usize {
    jumplabel::platform::builtin().page_size()
}

/// The size that the system says: the platform of the fallback knows no pages.
#[cfg(not(target_os = "linux"))]
fn page_size() -> usize {
    unsafe extern "C" {
        safe fn getpagesize() -> core::ffi::c_int;
    }
    getpagesize().unsigned_abs() as usize
}

/// False if nothing is mapped at the address now, for example because the key's object was unloaded. True otherwise, also if the system refuses to
/// say.
pub(crate) fn is_mapped<T>(at: *const T) -> bool {
    let page = page_size();
    let start = (at as usize & !(page - 1)) as *mut c_void;
    // SAFETY: `msync` with MS_ASYNC changes nothing. The kernel checks whether the range is mapped.
    let looked = unsafe { rustix::mm::msync(start, page, rustix::mm::MsyncFlags::ASYNC) };
    looked != Err(rustix::io::Errno::NOMEM)
}

unsafe extern "C" {
    /// Ends the process as a failed assertion does.
    #[allow(dead_code)] // Not used on all targets.
    pub(crate) safe fn abort() -> !;
}

/// Writes a text to standard error.
pub(crate) fn print(text: &[u8]) {
    unsafe extern "C" {
        fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
    }
    // The result is ignored: if standard error is closed, nothing can be done.
    // SAFETY: the pointer and the length are those of a slice.
    unsafe { write(2, text.as_ptr().cast(), text.len()) };
}
