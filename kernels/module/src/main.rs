//! A module: it has a site of its own key, and, as a dylib, two sites of the kernel's key, which the table lists as sites of another object's key.
#![no_std]
#![no_main]

use jumplabel::{RawKey, static_branch_unlikely, static_key};
#[cfg(jumplabel_dylib)]
use jumplabel::{StaticKey, static_branch_likely};

static_key! { static OWN: true; }

unsafe extern "C" {
    #[cfg(jumplabel_dylib)]
    safe static kernel_key: StaticKey<false>;
    static __module_text_end: u8;
    static __module_end: u8;
    static __module_init: u8;
    static __module_init_end: u8;
    static __module_fini: u8;
    static __module_fini_end: u8;
}

/// The header of a module. The kernel declares it in the same way.
#[repr(C)]
struct Header {
    magic: u64,
    text_end: *const u8,
    end: *const u8,
    constructors: [*const u8; 2],
    destructors: [*const u8; 2],
    key: &'static RawKey,
    seen: extern "C" fn() -> u32,
    foreign: usize,
}
// SAFETY: nobody writes to the header.
unsafe impl Sync for Header {}

#[used]
#[unsafe(link_section = ".header")]
#[unsafe(no_mangle)]
static HEADER: Header = Header {
    magic: u64::from_le_bytes(*b"a module"),
    text_end: &raw const __module_text_end,
    end: &raw const __module_end,
    constructors: [&raw const __module_init, &raw const __module_init_end],
    destructors: [&raw const __module_fini, &raw const __module_fini_end],
    key: OWN.raw(),
    seen,
    foreign: if cfg!(jumplabel_dylib) { 2 } else { 0 },
};

/// Runs the sites. Returns a bit for each, which is set if its key is on.
extern "C" fn seen() -> u32 {
    let own = u32::from(static_branch_unlikely!(OWN));
    #[cfg(jumplabel_dylib)]
    let own =
        own | u32::from(static_branch_unlikely!(kernel_key)) << 1 | u32::from(static_branch_likely!(kernel_key)) << 2;
    own
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
