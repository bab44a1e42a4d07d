//! AArch64: one aligned word, which any thread fetches whole, old or new (Arm ARM B2.2.5, "Concurrent modification and
//! execution of instructions", which names `NOP` and `B`).
//!
//! ```text
//!  nop    1f 20 03 d5   nop
//!  jump   imm26 | 14    b target      +-128 MiB
//! ```
//!
//! A naked key's function has such a site, too, and not an immediate that changes: the manual does not name `MOV`.

use super::branch::Branch;
use super::jump::Jump;
use super::naked::Naked;
use super::op::Op;
use super::{Arch, Code, State, word};

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Aarch64;

impl Arch for Aarch64 {
    fn displacement(address: u64, target: u64) -> Option<i32> {
        word::displacement(address, target.wrapping_sub(address).cast_signed(), 28, 4)
    }
}

impl Branch for Aarch64 {
    fn encode(state: State, displacement: i32) -> Code {
        let jump = 0x1400_0000 | displacement as u32 >> 2 & 0x03ff_ffff;
        word::branch(state, 0xd503_201f, jump)
    }
}

impl Jump for Aarch64 {}

impl Naked for Aarch64 {}

impl Op for Aarch64 {}
