//! Turns translation on; the alias through which text is written. Before that, all memory is writable at its own address.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::memory::{GIB, IMAGE, ROOT, Table};

/// True once text is read-only at its own address.
static PROTECTED: AtomicBool = AtomicBool::new(false);

/// The alias: all physical memory is writable from this address on, and cannot be executed there.
const ALIAS: u64 = 2 * GIB;
static ALIASES: Table = Table::new();
static DEVICES: Table = Table::new();

const LARGE: u64 = 0x81;
const WRITE: u64 = 2;
const NOT_CACHED: u64 = 0x18;
const NO_CODE: u64 = 1 << 63;

/// Turns translation on for the first CPU: text can be executed but not written, and constants can only be read.
pub fn map() {
    let place = |table: &'static Table| table as *const Table as usize as u64 | 1;
    ROOT.0[0].store(place(&IMAGE), Relaxed);
    ROOT.0[(ALIAS / GIB) as usize].store(place(&ALIASES), Relaxed);
    ROOT.0[3].store(place(&DEVICES), Relaxed);
    for (at, ((entry, alias), device)) in (0..).zip(IMAGE.0.iter().zip(&ALIASES.0).zip(&DEVICES.0)) {
        let rights = match at {
            1 | 4 => 0,
            2 | 5 => NO_CODE,
            _ => NO_CODE | WRITE,
        };
        entry.store(at << 21 | LARGE | rights, Relaxed);
        alias.store(at << 21 | LARGE | WRITE | NO_CODE, Relaxed);
        device.store(3 * GIB + (at << 21) | LARGE | WRITE | NOT_CACHED | NO_CODE, Relaxed);
    }
    of_other_cpu();
    PROTECTED.store(true, Relaxed);
}

/// Turns translation on, for this CPU.
pub fn of_other_cpu() {
    const FEATURES: u32 = 0xc000_0080;
    // SAFETY: the code that runs stays at its address. This turns on 64-bit entries, pages that cannot be executed, and translation. Even privileged
    // code may then not write to read-only pages.
    unsafe {
        asm!("mov {0}, cr4", "or {0}, 0x20", "mov cr4, {0}", out(reg) _, options(nostack));
        asm!("wrmsr", in("ecx") FEATURES, in("eax") 0x800, in("edx") 0, options(nostack));
        asm!("mov cr3, {0}", "mov {0}, cr0", "or {0}, 0x80010000", "mov cr0, {0}", inout(reg) &raw const ROOT => _, options(nostack));
    }
}

/// The address at which the byte of the image at `address` can be written.
pub fn alias(address: usize) -> usize {
    if PROTECTED.load(Relaxed) { address + ALIAS as usize } else { address }
}
