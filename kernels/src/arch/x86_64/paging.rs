//! What the tables protect, and the alias that text is written by.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::memory::{GIB, IMAGE};

/// Text cannot be written where it runs.
static PROTECTED: AtomicBool = AtomicBool::new(false);

/// Physical memory, writable; nothing there can be executed.
const ALIAS: u64 = 4 * GIB;

/// From now on text can be executed and not written, and constants can be read.
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
    // SAFETY: what runs stays where it is. This CPU is the only one.
    unsafe { asm!("mov {root}, cr3", "mov cr3, {root}", root = out(reg) _, options(nostack)) };
    PROTECTED.store(true, Relaxed);
}

/// The other CPU has the same tables from its start.
pub fn of_other_cpu() {}

/// Where the byte of the image at `address` can be written.
pub fn alias(address: usize) -> usize {
    if PROTECTED.load(Relaxed) { address + ALIAS as usize } else { address }
}
