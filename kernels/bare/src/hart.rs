//! The number of harts, the number of the hart that runs, and the size of a register.

use jumplabel_kernel::riscv;

pub const HARTS: usize = 4;

/// The number of the hart that calls.
pub fn number() -> usize {
    riscv::tp()
}

/// The size of a register, in bytes.
pub const REGISTER: usize = size_of::<usize>();

/// The instruction that loads or stores a register.
#[cfg(target_arch = "riscv64")]
macro_rules! register {
    (load) => {
        "ld"
    };
    (store) => {
        "sd"
    };
}
#[cfg(target_arch = "riscv32")]
macro_rules! register {
    (load) => {
        "lw"
    };
    (store) => {
        "sw"
    };
}
pub(crate) use register;
