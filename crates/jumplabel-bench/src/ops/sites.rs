//! The two tables of pointers. The call sites of one of them are patched as in the 2009 commit: the assembler lists them in a section, and each `call
//! *pointer` (6 bytes) becomes a `call` (5 bytes) and a nop.

use std::sync::atomic::{AtomicU64, Ordering};

use jumplabel_paravirt::lock::{byte_enter, byte_leave};
pub use jumplabel_paravirt::lock::{ticket_enter, ticket_leave};
use jumplabel_paravirt::{irq, pte};

use crate::Result;

/// Pointers to the functions for `enter`, `leave`, `save`, `disable`, `restore`, `set`, `read`.
pub static INDIRECT: [AtomicU64; 7] = [const { AtomicU64::new(0) }; 7];
/// The pointers of the calls that are patched, in the same order as [`INDIRECT`].
pub static DIRECT: [AtomicU64; 7] = [const { AtomicU64::new(0) }; 7];

const BYTES: usize = 6;

unsafe extern "C" {
    #[link_name = "__start_ops_call_sites"]
    static START: [u64; 2];
    #[link_name = "__stop_ops_call_sites"]
    static STOP: [u64; 2];
}

/// The bytes of one site before and after the patching, and the number of sites.
pub struct Listing {
    pub before: Vec<u8>,
    pub after: Vec<u8>,
    pub sites: usize,
}

/// Sets the pointers of both tables to native functions. If `is_native` is false, the pointers of [`INDIRECT`] lead to the other backends' functions.
pub fn point(is_native: bool) {
    let functions = [
        (ticket_enter as *const (), byte_enter as *const ()),
        (ticket_leave as *const (), byte_leave as *const ()),
        (irq::native_save as *const (), irq::masked_save as *const ()),
        (irq::native_disable as *const (), irq::masked_disable as *const ()),
        (irq::native_restore as *const (), irq::masked_restore as *const ()),
        (pte::native_set as *const (), pte::native_set as *const ()),
        (pte::native_read as *const (), pte::moved_read as *const ()),
    ];
    for ((native, backend), (indirect, direct)) in functions.into_iter().zip(INDIRECT.iter().zip(&DIRECT)) {
        indirect.store(if is_native { native } else { backend } as u64, Ordering::Relaxed);
        direct.store(native as u64, Ordering::Relaxed);
    }
}

/// Patches the call sites. Called once, while this process has one thread.
pub fn patch() -> Result<Listing> {
    // SAFETY: the linker defines these symbols around the section in which the call sites list themselves.
    let sites = unsafe {
        let start = &raw const START;
        std::slice::from_raw_parts(start, (&raw const STOP).offset_from(start) as usize)
    };
    let mut listing = Listing { before: Vec::new(), after: Vec::new(), sites: sites.len() };
    for &[site, number] in sites {
        let displacement = i32::try_from(DIRECT[number as usize].load(Ordering::Relaxed) as i64 - (site + 5) as i64)?;
        let mut code = [0xe8, 0, 0, 0, 0, 0x90];
        code[1..5].copy_from_slice(&displacement.to_le_bytes());
        let page = site & !0xfff;
        let bytes = (site as usize + BYTES) - page as usize;
        let allow = |what| {
            // SAFETY: these are the pages of the site, and the call keeps their contents.
            match unsafe { libc::mprotect(page as *mut _, bytes, what) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: the section lists only addresses of call instructions.
        let before = unsafe { (site as *const [u8; BYTES]).read() };
        if before[..2] != [0xff, 0x15] {
            return Err(format!("no call of a pointer at {site:#x}: {before:02x?}").into());
        }
        // The pages stay executable, because the code that patches may lie in the same page.
        allow(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
        // SAFETY: the page is writable, and no other thread runs.
        unsafe { (site as *mut [u8; BYTES]).write_volatile(code) };
        allow(libc::PROT_READ | libc::PROT_EXEC)?;
        (listing.before, listing.after) = (before.to_vec(), code.to_vec());
    }
    Ok(listing)
}
