//! POWER, 64 bits, little endian, ELFv2: a site is one aligned word (Power ISA book I, 2.4, `b`; book II, 1.8, "Instruction storage").
//!
//! ```text
//!  nop    00 00 00 60   ori 0,0,0
//!  jump   LI | 48       b target      +-32 MiB
//! ```

use super::word;
use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::kind::op::Op;
use crate::{Arch, Code, State};

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Powerpc64;

impl Arch for Powerpc64 {
    fn displacement(address: u64, target: u64) -> Option<i32> {
        word::displacement(address, target.wrapping_sub(address).cast_signed(), 26, 4)
    }
}

impl Branch for Powerpc64 {
    fn encode(state: State, displacement: i32) -> Code {
        word::branch(state, 0x6000_0000, 0x4800_0000 | displacement as u32 & 0x03ff_fffc)
    }
}

impl Jump for Powerpc64 {}

impl Naked for Powerpc64 {}

impl Op for Powerpc64 {}
