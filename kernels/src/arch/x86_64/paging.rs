//! Protects pages; the alias through which text is written.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::memory::{GIB, IMAGE};

/// True once text is read-only at its own address.
static PROTECTED: AtomicBool = AtomicBool::new(false);

/// The alias: all physical memory is writable from this address on, and cannot be executed there.
const ALIAS: u64 = 4 * GIB;

/// Protects memory: from now on text can be executed but not written, and constants can only be read.
pub fn map() {
    const LARGE: u64 = 0x81;
    const WRITE: u64 = 2;
    const NO_CODE: u64 = 1 << 63;
    for (at, entry) in (0..).zip(&IMAGE.0) {
        let rights = match at {
            1 | 4 => 0,
            2 | 5 => NO_CODE,
            _ => NO_CODE | WRITE,
        };
        entry.store(at << 21 | LARGE | rights, Relaxed);
    }
    // SAFETY: the code that runs stays at its address. No other CPU runs yet.
    unsafe { asm!("mov {root}, cr3", "mov cr3, {root}", root = out(reg) _, options(nostack)) };
    PROTECTED.store(true, Relaxed);
}

/// Does nothing: the other CPU has the same tables from its start.
pub fn of_other_cpu() {}

/// The address at which the byte of the image at `address` can be written.
pub fn alias(address: usize) -> usize {
    if PROTECTED.load(Relaxed) { address + ALIAS as usize } else { address }
}
