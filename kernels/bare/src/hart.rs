//! The number of harts, and the number of the hart that runs.

use jumplabel_kernel::riscv;

pub const HARTS: usize = 4;

/// The number of the hart that calls.
pub fn number() -> usize {
    riscv::tp()
}
