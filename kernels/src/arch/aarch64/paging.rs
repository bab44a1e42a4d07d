//! Translation, and the alias that text is written by.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::memory::{GIB, IMAGE, ROOT};

/// Text cannot be written where it runs.
static PROTECTED: AtomicBool = AtomicBool::new(false);

/// Physical memory from 1 GiB on, writable.
const ALIAS: u64 = 8 * GIB;

/// From now on text can be executed and not written, and constants can be read.
pub fn map() {
    translate(true);
    PROTECTED.store(true, Relaxed);
}

/// Turns translation on, for this core.
pub fn translate(protect: bool) {
    const BLOCK: u64 = 1 | 1 << 10 | 3 << 8; // accessed, shared by all cores
    const DEVICE: u64 = 1 << 2;
    const READ_ONLY: u64 = 1 << 7;
    const NO_CODE: u64 = 3 << 53;
    ROOT.0[0].store(BLOCK | DEVICE | NO_CODE, Relaxed);
    ROOT.0[1].store((&raw const IMAGE) as u64 | 3, Relaxed);
    ROOT.0[(ALIAS / GIB) as usize].store(GIB | BLOCK | NO_CODE, Relaxed);
    let read_only = if protect { READ_ONLY } else { 0 };
    for (at, entry) in (0..).zip(&IMAGE.0) {
        let rights = match at {
            1 | 4 => read_only,
            2 | 5 => read_only | NO_CODE,
            _ => NO_CODE,
        };
        entry.store((GIB + (at << 21)) | BLOCK | rights, Relaxed);
    }
    let kinds: u64 = 0x04_ff; // 0: memory, 1: device
    // 39 bits, tables in shared and cached memory, no upper half, 40 bits physical.
    let control: u64 = 25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | 2 << 32;
    // SAFETY: what runs stays where it is. Bits 0, 2 and 12: translation, and both caches.
    unsafe {
        asm!(
            "dsb ish", "msr mair_el1, {kinds}", "msr tcr_el1, {control}", "msr ttbr0_el1, {root}", "isb",
            "tlbi vmalle1is", "dsb ish", "isb",
            "mrs {bits}, sctlr_el1", "orr {bits}, {bits}, #1", "orr {bits}, {bits}, #4", "orr {bits}, {bits}, #0x1000", "msr sctlr_el1, {bits}", "isb",
            kinds = in(reg) kinds, control = in(reg) control, root = in(reg) &raw const ROOT, bits = out(reg) _,
            options(nostack),
        );
    }
}

/// Where the byte of the image at `address` can be written.
pub fn alias(address: usize) -> usize {
    if PROTECTED.load(Relaxed) { address - GIB as usize + ALIAS as usize } else { address }
}
