//! RV32: the instructions of [`riscv64`](super::riscv64), at addresses of 32 bits. (RISC-V unprivileged ISA: 2.5.1, `JAL`.)

use super::riscv64::Riscv64;
use super::word;
use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::kind::op::Op;
use crate::{Arch, Code, State};

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Riscv32;

impl Arch for Riscv32 {
    /// The distance from the site to the target. Addresses wrap around at 4 GiB.
    fn displacement(address: u64, target: u64) -> Option<i32> {
        let distance = (target as u32).wrapping_sub(address as u32).cast_signed();
        word::displacement(address, distance.into(), 21, 2)
    }
}

impl Branch for Riscv32 {
    fn encode(state: State, displacement: i32) -> Code {
        <Riscv64 as Branch>::encode(state, displacement)
    }
}

impl Jump for Riscv32 {}

impl Naked for Riscv32 {
    fn encode(state: State, displacement: i32) -> Code {
        <Riscv64 as Naked>::encode(state, displacement)
    }
}

impl Op for Riscv32 {}
