//! Encoders, by instruction set.

pub mod aarch64;
pub mod arm;
pub mod loongarch64;
pub mod powerpc64;
pub mod riscv32;
pub mod riscv64;
pub mod s390x;
mod word;
pub mod x86;

use crate::State;

impl State {
    /// At a check's site: whether execution continues after the site, so that the check yields the value in the entry's meta word. At a
    /// naked key's function: whether the function returns false.
    #[must_use]
    pub fn falls_through(self) -> bool {
        self.action::<x86::X86<64>>() == 0 // The same on every instruction set.
    }
}
