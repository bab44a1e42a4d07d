//! How many harts there are, and the number of each.

use core::arch::asm;

pub const HARTS: usize = 4;

/// The number of the hart that calls.
pub fn number() -> usize {
    let number;
    // SAFETY: it reads tp, which holds the hart's number, because nobody else uses tp.
    unsafe { asm!("mv {}, tp", out(reg) number, options(nomem, nostack, preserves_flags)) };
    number
}
