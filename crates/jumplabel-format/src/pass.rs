//! A change of a site that one store cannot write. First one byte of the site gets the value `pass`. With this value, the bytes after it do not
//! matter, and can change one by one.
//!
//! ```text
//!  step 0   the byte := pass              left out if the byte is `pass` already
//!  step 1   the bytes after it := new
//!  step 2   the byte := its new value     left out if that is `pass`
//! ```
//!
//! If only one byte of the site changes, even a byte of a displacement, step 2 alone writes it: such a change cannot tear. If several bytes
//! change, a thread can execute the instruction that has `pass`, so the kind must allow that instruction.

use crate::{Code, StepBytes};

/// A byte of a site, and its value `pass`, with which the bytes after it do not matter.
pub(crate) struct Pass {
    /// The offset of the byte in the site.
    pub(crate) at: u8,
    /// The value.
    pub(crate) byte: u8,
}

impl Pass {
    /// The number of steps.
    pub(crate) const STEPS: u8 = 3;

    /// [`Arch::step`](super::Arch::step).
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

    /// [`Arch::undo`](super::Arch::undo).
    pub(crate) fn undo(&self, number: u8, old: Code, new: Code) -> Option<StepBytes> {
        // These are the steps of the opposite change, in reverse order.
        let number = if StepBytes::difference(new, old)?.len == 1 { number } else { Self::STEPS - 1 - number };
        self.step(number, new, old)
    }

    fn byte_of(&self, code: Code) -> u8 {
        (code.word() >> (self.at * 8)) as u8
    }

    /// A write of `byte`, unless `code` already has the passing value there.
    fn unless_passing(&self, code: Code, byte: u8) -> Option<StepBytes> {
        (self.byte_of(code) != self.byte).then_some(StepBytes::byte(self.at, byte))
    }

    fn behind(&self, code: Code) -> StepBytes {
        StepBytes::of(code, self.at + 1, code.len() as u8 - self.at - 1)
    }
}
