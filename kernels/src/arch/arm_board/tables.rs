//! The tables of pages, in AArch64's format, which Armv7-A calls long descriptors, and the alias through which text is written.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::memory::{GIB, IMAGE, ROOT};

/// True once text is read-only at its own address.
static PROTECTED: AtomicBool = AtomicBool::new(false);

/// The alias: all physical memory from 1 GiB on is writable from this address on.
const ALIAS: u64 = 3 * GIB;

/// Fills the tables. If `protect` is set, text can be executed but not written, and constants can only be read.
pub fn fill(protect: bool) {
    const BLOCK: u64 = 1 | 1 << 10 | 3 << 8; // accessed, shared by all cores
    const DEVICE: u64 = 1 << 2;
    const READ_ONLY: u64 = 1 << 7;
    const NO_CODE: u64 = 3 << 53;
    put(&ROOT.0[0], BLOCK | DEVICE | NO_CODE);
    put(&ROOT.0[1], (&raw const IMAGE) as usize as u64 | 3);
    put(&ROOT.0[(ALIAS / GIB) as usize], GIB | BLOCK | NO_CODE);
    let read_only = if protect { READ_ONLY } else { 0 };
    for (at, entry) in (0..).zip(&IMAGE.0) {
        let rights = match at {
            1 | 4 => read_only,
            2 | 5 => read_only | NO_CODE,
            _ => NO_CODE,
        };
        put(entry, (GIB + (at << 21)) | BLOCK | rights);
    }
}

/// Stores an entry without an atomic access: on Armv7-A, an atomic store of 64 bits needs cached memory, and no memory is cached before translation
/// is on.
fn put(entry: &AtomicU64, value: u64) {
    // SAFETY: another core may store here, too, but it stores the same value.
    unsafe { entry.as_ptr().write_volatile(value) };
}

/// Makes writes use the alias from now on.
pub fn protect() {
    PROTECTED.store(true, Relaxed);
}

/// The address at which the byte of the image at `address` can be written.
pub fn alias(address: usize) -> usize {
    if PROTECTED.load(Relaxed) { address - GIB as usize + ALIAS as usize } else { address }
}
