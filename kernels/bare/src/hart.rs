//! How many harts there are, and the number of each.

use jumplabel_kernel::riscv;

pub const HARTS: usize = 4;

/// The number of the hart that calls.
pub fn number() -> usize {
    riscv::tp()
}
