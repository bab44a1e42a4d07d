//! The handler of panics and the allocator for the libraries of `make install`, which are built without std.
//!
//! ```text
//!   cargo builds this crate for tests, for Rust programs     std has a handler of panics and an allocator
//!   install/libraries: --cfg jumplabel_installed             this file
//! ```
//!
//! `jumplabel_installed` is a cfg and not a feature, because cargo unifies features: a Rust program that depends on this crate could get two panic
//! handlers.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_void};
use core::panic::PanicInfo;
use core::ptr::null_mut;

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn posix_memalign(memory: &mut *mut c_void, alignment: usize, bytes: usize) -> c_int;
    fn free(memory: *mut c_void);
}

/// Ends the process as a failed assertion of C does, without unwinding. The library never panics.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    crate::system::abort()
}

/// The allocator of the C library. Only lists of probes use it; flips have memory of their own.
struct OfC;

#[global_allocator]
static ALLOCATOR: OfC = OfC;

/// The alignment in bytes that `malloc` guarantees.
const ALIGNED: usize = 2 * size_of::<usize>();

// SAFETY: the C library returns memory of the size and alignment that is asked for, or null, and keeps it until `free`.
unsafe impl GlobalAlloc for OfC {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees that the size is not 0. The alignment is a power of two, and at least that of a pointer for `posix_memalign`.
        unsafe {
            if layout.align() <= ALIGNED.min(layout.size()) {
                return malloc(layout.size()).cast();
            }
            let mut memory = null_mut();
            let refused = posix_memalign(&mut memory, layout.align().max(size_of::<usize>()), layout.size());
            if refused == 0 { memory.cast() } else { null_mut() }
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller guarantees that `memory` comes from `alloc`, which got it from the C library.
        unsafe { free(memory.cast()) };
    }
}
