//! z/Architecture: a site is a `brcl` of six bytes (Principles of Operation, "Branch relative on condition long"). Its mask says whether it jumps: 0
//! is never, 15 is always. So the nop and the jump differ in one byte, and have the same displacement.
//!
//! ```text
//!  nop    c0 04 rel32   brcl 0, target
//!  jump   c0 f4 rel32   brcl 15, target     rel32: half of the distance, big endian
//! ```
//!
//! While the displacement changes (for example that of a static call's trampoline), the mask is 0, so the instruction never jumps (`pass.rs`).

use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::kind::op::Op;
use crate::layout::BRANCH;
use crate::pass::Pass;
use crate::{Arch, Code, State, StepBytes};

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct S390x;

impl Arch for S390x {
    const SIZE: usize = 6;
    const SINGLE_STORE: bool = false;
    const STEPS: u8 = Pass::STEPS;

    /// The distance from the site to the target, in bytes. `None` if the distance is odd, or does not fit in 32 bits. So a jump reaches 2 GiB here,
    /// although the instruction itself reaches 4 GiB.
    fn displacement(address: u64, target: u64) -> Option<i32> {
        i32::try_from(target.wrapping_sub(address).cast_signed()).ok().filter(|distance| distance % 2 == 0)
    }

    #[inline]
    fn step(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        PASS.step(number, old, new)
    }

    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        PASS.undo(number, old, new)
    }
}

/// The byte at offset 1 holds the mask. With the value 04 the mask is 0, so the instruction never jumps.
const PASS: Pass = Pass { at: 1, byte: 0x04 };

impl Branch for S390x {
    fn encode(state: State, displacement: i32) -> Code {
        let mask = if state == State::JUMP { 0xf4 } else { 0x04 };
        let [a, b, c, d] = (displacement / 2).to_be_bytes();
        Code::new(BRANCH, &[0xc0, mask, a, b, c, d])
    }
}

impl Jump for S390x {
    /// The state of a site that holds `code`. If the mask is 0, the state is [`State::INDIRECT`], whatever the displacement in `code` is.
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        let holds = |state, displacement| <Self as Jump>::encode(state, displacement) == code;
        match displacement {
            Some(displacement) if holds(State::DIRECT, displacement) => Some(State::DIRECT),
            _ => matches!(*code, [0xc0, 0x04, ..]).then_some(State::INDIRECT),
        }
    }
}

impl Naked for S390x {}

impl Op for S390x {}
