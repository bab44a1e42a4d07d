//! Turns the translation of addresses on.

use core::arch::asm;

use super::tables;
use crate::memory::ROOT;

/// Turns translation on for this core. If `protect` is set, text is not writable.
pub fn translate(protect: bool) {
    tables::fill(protect);
    let kinds: u64 = 0x04_ff; // 0: memory, 1: device
    // Addresses of 39 bits, tables in shared and cached memory, no upper half, physical addresses of 40 bits.
    let control: u64 = 25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | 2 << 32;
    // SAFETY: the code that runs stays at its address. Bits 0, 2 and 12 turn on translation and both caches.
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
