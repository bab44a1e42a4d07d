//! z/Architecture: `brcl`, whose mask says when it jumps: never or always. The two differ in one byte; the displacement stays
//! (Principles of Operation, "Branch relative on condition long").
//!
//! ```text
//!  nop    c0 04 rel32   brcl 0, target
//!  jump   c0 f4 rel32   brcl 15, target     rel32: half of the distance, big endian
//! ```

use super::branch::Branch;
use super::naked::Naked;
use super::{Arch, Code, State};
use crate::format::BRANCH;

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct S390x;

impl Arch for S390x {
    const SIZE: usize = 6;
    const WHOLE: bool = false;

    /// In bytes; `None` if a word does not hold it (2 GiB).
    fn displacement(address: u64, target: u64) -> Option<i32> {
        i32::try_from(target.wrapping_sub(address).cast_signed()).ok().filter(|distance| distance % 2 == 0)
    }
}

impl Branch for S390x {
    fn encode(state: State, displacement: i32) -> Code {
        let mask = if state == State::JUMP { 0xf4 } else { 0x04 };
        let [a, b, c, d] = (displacement / 2).to_be_bytes();
        Code::new(BRANCH, &[0xc0, mask, a, b, c, d])
    }
}

impl Naked for S390x {}
