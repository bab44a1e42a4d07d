//! The start of a core of QEMU's `virt` for Arm, which is the same for AArch64 and Armv7-A.

use super::{tables, translate, trap_on};

pub extern "C" fn first() -> ! {
    // Atomic accesses need cached memory, so translation is on from the beginning. Text is still writable.
    translate(false);
    trap_on();
    crate::first()
}

pub extern "C" fn other() -> ! {
    translate(true);
    trap_on();
    crate::other()
}

/// Protects memory: from now on text can be executed but not written, and constants can only be read.
pub fn map() {
    translate(true);
    tables::protect();
}
