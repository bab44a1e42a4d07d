//! The services of the system in a program on Windows.

use core::ffi::{c_int, c_uint, c_void};

/// The description of a region that `VirtualQuery` returns (`MEMORY_BASIC_INFORMATION`).
#[repr(C)]
#[derive(Default)]
struct Region {
    base: usize,
    allocation: usize,
    first_protection: u32,
    partition: u16,
    bytes: usize,
    state: u32,
    protection: u32,
    kind: u32,
}

const MEM_COMMIT: u32 = 0x1000;

#[link(name = "kernel32")]
unsafe extern "system" {
    safe fn GetCurrentThreadId() -> u32;
    fn VirtualQuery(address: *const c_void, region: *mut Region, bytes: usize) -> usize;
}

/// The number of the calling thread, never 0.
pub(crate) fn me() -> usize {
    GetCurrentThreadId() as usize
}

/// False if nothing is mapped at the address now, for example because the key's object was unloaded. True otherwise, also if the system refuses to
/// say.
pub(crate) fn is_mapped<T>(at: *const T) -> bool {
    let mut region = Region::default();
    // SAFETY: the call writes to `region`, whose size is passed. It reads nothing at the address.
    let told = unsafe { VirtualQuery(at.cast(), &raw mut region, size_of::<Region>()) };
    told == 0 || region.state == MEM_COMMIT
}

unsafe extern "C" {
    /// Ends the process as a failed assertion does.
    #[allow(dead_code)] // Not used on all targets.
    pub(crate) safe fn abort() -> !;
}

/// Writes a text to standard error.
pub(crate) fn print(text: &[u8]) {
    unsafe extern "C" {
        #[link_name = "_write"]
        fn write(descriptor: c_int, bytes: *const c_void, count: c_uint) -> c_int;
    }
    // The result is ignored: if standard error is closed, nothing can be done.
    // SAFETY: the pointer and the length are those of a slice.
    unsafe { write(2, text.as_ptr().cast(), text.len().try_into().unwrap_or(c_uint::MAX)) };
}
