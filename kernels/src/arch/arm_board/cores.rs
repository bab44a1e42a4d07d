//! QEMU's `virt` of Arm: the start of a core, and the code that is the same for both instruction sets.

use super::{tables, translate, trap_on};

pub extern "C" fn first() -> ! {
    // Atomic accesses need memory that can be cached, so translation is on from the beginning. Text can still be written.
    translate(false);
    trap_on();
    crate::first()
}

pub extern "C" fn other() -> ! {
    translate(true);
    trap_on();
    crate::other()
}

/// From now on text can be executed but not written, and constants can be read.
pub fn map() {
    translate(true);
    tables::protect();
}
