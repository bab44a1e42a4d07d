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
    /// Whether a check in this state falls through, and so yields the value in its entry's meta word ([`ARM`](crate::layout::ARM)). For the
    /// function of a naked key: whether the function returns false. For calls, switches and operations the result has no meaning.
    #[must_use]
    pub fn falls_through(self) -> bool {
        self.action::<x86::X86<64>>() == 0 // The action of a state is the same on every instruction set.
    }
}
