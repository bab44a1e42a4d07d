//! QEMU's `virt` of Arm: how a core begins, and what both instruction sets say in the same words.

use core::arch::asm;

use super::{tables, translate, trap_on};

pub extern "C" fn first() -> ! {
    // Atomic accesses need memory that can be cached: translation is on from the beginning, and text can be written.
    translate(false);
    trap_on();
    crate::first()
}

pub extern "C" fn other() -> ! {
    translate(true);
    trap_on();
    crate::other()
}

/// From now on text can be executed and not written, and constants can be read.
pub fn map() {
    translate(true);
    tables::protect();
}

/// What this core has fetched ahead is forgotten.
pub fn serialise() {
    // SAFETY: changes nothing.
    unsafe { asm!("isb", options(nostack)) };
}
