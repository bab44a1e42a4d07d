//! Turns the translation of addresses on, with long descriptors.

use core::arch::asm;

use super::tables;
use crate::memory::ROOT;

/// Turns translation on for this core. If `protect` is set, text is not writable.
pub fn translate(protect: bool) {
    tables::fill(protect);
    let kinds: u32 = 0x04_ff; // 0: memory, 1: device
    // Long descriptors, tables in shared and cached memory, all 4 GiB by one root.
    let control: u32 = 1 << 31 | 3 << 12 | 1 << 10 | 1 << 8;
    // SAFETY: the code that runs stays at its address. Bits 0, 2 and 12 of the last register turn on translation and both caches.
    unsafe {
        asm!(
            "dsb ish", "mcr p15, 0, {kinds}, c10, c2, 0", "mcr p15, 0, {control}, c2, c0, 2",
            "mcrr p15, 0, {root}, {zero}, c2", "isb",
            "mcr p15, 0, {zero}, c8, c3, 0", "dsb ish", "isb",
            "mrc p15, 0, {bits}, c1, c0, 0", "orr {bits}, {bits}, #5", "orr {bits}, {bits}, #0x1000",
            "mcr p15, 0, {bits}, c1, c0, 0", "isb",
            kinds = in(reg) kinds, control = in(reg) control, root = in(reg) &raw const ROOT, zero = in(reg) 0, bits = out(reg) _,
            options(nostack),
        );
    }
}
