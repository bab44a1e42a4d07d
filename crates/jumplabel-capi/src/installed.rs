//! What std would bring, in the libraries that `make install` installs: they are without it.
//!
//! ```text
//!   cargo builds this crate for tests, for Rust programs     std has a handler of panics and an allocator
//!   install/libraries: --cfg jumplabel_installed             this file
//! ```
//!
//! It is a cfg and no feature: cargo unifies features, and a Rust program that has this crate would have two handlers.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_void};
use core::panic::PanicInfo;
use core::ptr::null_mut;

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn posix_memalign(memory: &mut *mut c_void, alignment: usize, bytes: usize) -> c_int;
    fn free(memory: *mut c_void);
}

/// The library panics nowhere. If it does, the process ends as by any other failed assertion of C, and nothing unwinds: neither out of the
/// library nor out of what it calls.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    crate::system::abort()
}

/// The C library's. Lists of probes are in it, and nothing else: flips have memory of their own.
struct OfC;

#[global_allocator]
static ALLOCATOR: OfC = OfC;

/// What `malloc` aligns everything to, at the least.
const ALIGNED: usize = 2 * size_of::<usize>();

// SAFETY: the C library's functions keep this contract.
unsafe impl GlobalAlloc for OfC {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size is not 0.
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
        // SAFETY: the caller passes what it has from here, and that is from the C library.
        unsafe { free(memory.cast()) };
    }
}
