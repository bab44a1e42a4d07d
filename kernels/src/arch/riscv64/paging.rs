//! Turns the translation of addresses on; the alias through which text is written.

use core::arch::asm;
use core::sync::atomic::Ordering::Relaxed;

use crate::memory::{GIB, IMAGE, ROOT};

/// The alias: physical memory from 2 GiB on is writable from this address on.
const ALIAS: u64 = 4 * GIB;

/// Turns translation on for this hart: text can be executed but not written, constants can only be read.
pub fn map() {
    const READ: u64 = 2;
    const WRITE: u64 = 4;
    const EXECUTE: u64 = 8;
    let leaf = |physical: u64, rights: u64| physical >> 2 | rights | 0xc1; // valid, accessed, dirty
    ROOT.0[0].store(leaf(0, READ | WRITE), Relaxed); // devices
    ROOT.0[2].store((&raw const IMAGE) as u64 >> 2 | 1, Relaxed);
    ROOT.0[(ALIAS / GIB) as usize].store(leaf(2 * GIB, READ | WRITE), Relaxed);
    for (at, entry) in (0..).zip(&IMAGE.0) {
        let rights = match at {
            1 | 4 => READ | EXECUTE,
            2 | 5 => READ,
            _ => READ | WRITE,
        };
        entry.store(leaf(2 * GIB + (at << 21), rights), Relaxed);
    }
    let root = 8 << 60 | (&raw const ROOT) as u64 >> 12;
    // SAFETY: the code that runs stays at its address.
    unsafe { asm!("sfence.vma", "csrw satp, {}", "sfence.vma", in(reg) root) };
}

/// The address at which the byte of the image at `address` can be written.
pub fn alias(address: usize) -> usize {
    let translation: u64;
    // SAFETY: this only reads a register.
    unsafe { asm!("csrr {}, satp", out(reg) translation, options(nomem, nostack)) };
    if translation == 0 { address } else { address - 2 * GIB as usize + ALIAS as usize }
}
