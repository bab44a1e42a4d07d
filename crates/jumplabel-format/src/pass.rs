//! The three steps by which a site changes if one store cannot write it. First, one byte of the site gets the value `pass`. While the byte has
//! this value, the bytes after it do not matter, and can change one by one.
//!
//! ```text
//!  step 0   the byte := pass              left out if the byte is `pass` already
//!  step 1   the bytes after it := new
//!  step 2   the byte := its new value     left out if that is `pass`
//! ```
//!
//! If only one byte of the site changes, step 2 alone writes it, even if it is a byte of a displacement: such a change cannot tear. If
//! several bytes change, a thread can execute the instruction that has `pass`, so the kind must allow that instruction.

use crate::{Code, StepBytes};

/// The byte of a site that changes first, and its value `pass`.
pub(crate) struct Pass {
    /// The offset of that byte in the site.
    pub(crate) at: u8,
    /// The value `pass`: while the byte has it, the bytes after it do not matter.
    pub(crate) byte: u8,
}

impl Pass {
    /// The number of steps of a change.
    pub(crate) const STEPS: u8 = 3;

    /// The bytes of a step: [`Arch::step`](super::Arch::step).
    #[inline(never)]
    pub(crate) fn step(&self, number: u8, old: Code, new: Code) -> Option<StepBytes> {
        match (number, StepBytes::difference(old, new)?) {
            (2, step_bytes) if step_bytes.len == 1 => Some(step_bytes),
            (_, step_bytes) if step_bytes.len == 1 => None,
            (0, _) => self.unless_passing(old, self.byte),
            (1, _) => Some(self.behind(new)),
            _ => self.unless_passing(new, self.byte_of(new)),
        }
    }

    /// The bytes that take a step back: [`Arch::undo`](super::Arch::undo).
    pub(crate) fn undo(&self, number: u8, old: Code, new: Code) -> Option<StepBytes> {
        // The opposite change has the same steps in reverse order, so one of its steps takes this step back.
        let number = if StepBytes::difference(new, old)?.len == 1 { number } else { Self::STEPS - 1 - number };
        self.step(number, new, old)
    }

    fn byte_of(&self, code: Code) -> u8 {
        (code.word() >> (self.at * 8)) as u8
    }

    /// A write of `byte`, unless `code` has the value `pass` there; then `None`.
    fn unless_passing(&self, code: Code, byte: u8) -> Option<StepBytes> {
        (self.byte_of(code) != self.byte).then_some(StepBytes::byte(self.at, byte))
    }

    fn behind(&self, code: Code) -> StepBytes {
        StepBytes::of(code, self.at + 1, code.len() as u8 - self.at - 1)
    }
}
