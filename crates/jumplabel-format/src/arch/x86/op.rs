//! The program's own instructions on x86-64, at the sites of operations and alternatives. This file says whether a site can hold an instruction,
//! and computes the instruction's bytes for another address.

use super::X86;
use super::decoder::{Instruction, MAX};
use crate::Code;
use crate::kind::alternative::{Alternative, NOPS};
use crate::kind::op::{Fault, Op};
use crate::layout::OP;

/// The length of a jump, in bytes.
const JUMP: usize = 5;
/// The largest number of bytes that change at the site of an alternative.
const LONGEST: usize = 7;

impl<const BITS: u32> Op for X86<BITS> {
    /// Checks whether `bytes` can be the instruction of a site. On i686 every instruction is refused.
    fn examine(bytes: &[u8]) -> Result<(), Fault> {
        let instruction = Instruction::of(bytes)?;
        if BITS == 32 || bytes.len() < JUMP || instruction.len != bytes.len() {
            return Err(Fault::Length);
        }
        instruction.fault.map_or(Ok(()), Err)
    }

    fn moved(bytes: &[u8], from: usize, to: usize) -> Code {
        let mut moved = [0; MAX];
        moved.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        if let Ok(instruction) = Instruction::of(bytes) {
            let _ = instruction.shift(&mut moved, from.wrapping_sub(to));
        }
        Code::new(OP, moved.get(..JUMP).unwrap_or_default())
    }
}

impl<const BITS: u32> Alternative for X86<BITS> {
    /// Moves the instructions one by one, up to the one that contains the last of the first `size` bytes.
    fn placed(bytes: &[u8], from: usize, to: usize, size: usize) -> Option<Code> {
        let mut moved = [0; LONGEST + MAX];
        let mut next = 0;
        while next < bytes.len() && next < size {
            let rest = bytes.get(next..)?;
            let instruction = Instruction::of(rest).ok().filter(|instruction| instruction.len <= rest.len())?;
            let place = moved.get_mut(next..)?;
            place.iter_mut().zip(rest).take(instruction.len).for_each(|(place, byte)| *place = *byte);
            instruction.shift(place, from.wrapping_sub(to)).then_some(())?;
            next += instruction.len;
            // `shift` does not adjust the displacement of a short jump. So the jump must lead into the sequence or to its end, and the site must
            // hold the whole sequence.
            if let Some(distance) = instruction.short {
                let leads_to = next.checked_add_signed(distance.into());
                leads_to.filter(|&leads_to| leads_to <= bytes.len() && size >= bytes.len())?;
            }
        }
        let padding = NOPS.get(size.saturating_sub(next)).copied().unwrap_or_default();
        moved.get_mut(next..)?.iter_mut().zip(padding).for_each(|(place, byte)| *place = *byte);
        Some(Code::new(OP, moved.get(..size)?))
    }
}
