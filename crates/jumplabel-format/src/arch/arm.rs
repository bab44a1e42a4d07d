//! Armv7-A, in A32 code: a site is one aligned word. A thread that runs the site during a change fetches the whole old word or the whole new word
//! (Arm ARM for Armv7-A, A3.5.4, which names `NOP` and `B`). Thumb code has no sites.
//!
//! ```text
//!  nop    00 f0 20 e3   nop
//!  jump   imm24 | ea    b target      +-32 MiB around the site + 8
//! ```

use super::word;
use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::kind::op::Op;
use crate::{Arch, Code, State};

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Arm;

impl Arch for Arm {
    /// The distance to the target from the site's address plus 8, because `b` counts from there. Addresses wrap around at 4 GiB.
    fn displacement(address: u64, target: u64) -> Option<i32> {
        let distance = (target as u32).wrapping_sub(address as u32).wrapping_sub(8).cast_signed();
        word::displacement(address, distance.into(), 26, 4)
    }
}

impl Branch for Arm {
    fn encode(state: State, displacement: i32) -> Code {
        let jump = 0xea00_0000 | displacement as u32 >> 2 & 0x00ff_ffff;
        word::branch(state, 0xe320_f000, jump)
    }
}

impl Jump for Arm {}

impl Naked for Arm {}

impl Op for Arm {}
