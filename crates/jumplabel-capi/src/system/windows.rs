//! A program of Windows.

use core::ffi::{c_int, c_uint, c_void};

/// What `VirtualQuery` tells of a region.
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

/// Names the calling thread. Not 0.
pub(crate) fn me() -> usize {
    GetCurrentThreadId() as usize
}

/// False where nothing is mapped at an address: a key whose object was unloaded. A look, no promise: it may go at once.
/// What the system refuses to tell is taken for mapped.
pub(crate) fn is_mapped<T>(at: *const T) -> bool {
    let mut region = Region::default();
    // SAFETY: it reads nothing at the address, and writes the region.
    let told = unsafe { VirtualQuery(at.cast(), &raw mut region, size_of::<Region>()) };
    told == 0 || region.state == MEM_COMMIT
}

unsafe extern "C" {
    /// Ends the process as a failed assertion does.
    #[allow(dead_code)] // Not on every target.
    pub(crate) safe fn abort() -> !;
}

/// Standard error.
pub(crate) fn print(text: &[u8]) {
    unsafe extern "C" {
        #[link_name = "_write"]
        fn write(descriptor: c_int, bytes: *const c_void, count: c_uint) -> c_int;
    }
    // SAFETY: a slice. Nothing can be done where standard error is closed.
    unsafe { write(2, text.as_ptr().cast(), text.len().try_into().unwrap_or(c_uint::MAX)) };
}
