//! AArch64: a site is one aligned word. A thread that runs the site during a change fetches the whole old word or the whole new word (Arm ARM
//! B2.2.5, "Concurrent modification and execution of instructions", which names `NOP` and `B`).
//!
//! ```text
//!  nop    1f 20 03 d5   nop
//!  jump   imm26 | 14    b target      +-128 MiB
//! ```
//!
//! The function of a naked key has a site with the same two instructions. A `mov` whose immediate changes is not allowed there, because that
//! section of the manual does not name `MOV`.

use super::word;
use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::kind::op::{Fault, Op};
use crate::{Arch, Code, State};

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

impl Op for Aarch64 {
    /// Checks whether `bytes` can be the instruction of a site, by the encodings in Arm ARM C4.1, "A64 instruction set encoding".
    fn examine(bytes: &[u8]) -> Result<(), Fault> {
        let word = word::of(bytes)?;
        let bits = |first: u32, last: u32| word >> last & ((2 << (first - last)) - 1);
        let (first_is_stack, result_is_stack) = (bits(9, 5) == 31, bits(4, 0) == 31);
        let sets_flags = bits(29, 29) == 1;
        match bits(28, 25) {
            // Encodings that are not allocated, or that belong to the extensions for vectors and matrices.
            0b0000..=0b0011 => Err(Fault::Length),
            // Jumps and system calls. The excepted value d5 stands for `msr`, `mrs`, barriers and hints, which are allowed.
            0b1010 | 0b1011 if bits(31, 24) != 0xd5 => Err(Fault::Jumps),
            // `adr`, `adrp`, and loads of a literal.
            0b1000 if bits(24, 24) == 0 => Err(Fault::Place),
            0b0100 | 0b0110 | 0b1100 | 0b1110 if bits(29, 27) == 0b011 && bits(24, 24) == 0 => Err(Fault::Place),
            // Loads, stores and atomics whose address is in the stack pointer.
            0b0100 | 0b0110 | 0b1100 | 0b1110 if first_is_stack => Err(Fault::Stack),
            // Additions and subtractions with an immediate or an extended register. Register 31 is the stack pointer here, but not as the result of
            // an instruction that sets flags.
            0b1000 if first_is_stack || result_is_stack && !sets_flags => Err(Fault::Stack),
            0b0101 if bits(24, 24) == 1 && bits(21, 21) == 1 && (first_is_stack || result_is_stack && !sets_flags) => {
                Err(Fault::Stack)
            }
            // Logic with an immediate. Register 31 is the stack pointer here, but not in `tst`, which has no result.
            0b1001 if bits(24, 23) == 0 && result_is_stack && bits(30, 29) != 0b11 => Err(Fault::Stack),
            _ => Ok(()),
        }
    }
}
