//! How a site changes if one store cannot write its bytes: first a byte is written behind which the other bytes do not matter,
//! and then those may change one by one.
//!
//! ```text
//!  step 0   the byte := pass       unless it is that already
//!  step 1   what is behind := new
//!  step 2   the byte := new        unless that is pass; the one byte that differs, if it is one
//! ```
//!
//! A change of one byte cannot tear, and takes step 2 alone, also if it is a byte of a displacement. If more than one byte of a site
//! may change, a thread may execute the passing instruction there, and the kind must allow that.

use crate::{Code, StepBytes};

/// What passes.
pub(crate) struct Pass {
    /// The place of the byte.
    pub(crate) at: u8,
    /// The byte.
    pub(crate) byte: u8,
}

impl Pass {
    /// How many steps there are.
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
        // The steps of the opposite change, its last one first.
        let number = if StepBytes::difference(new, old)?.len == 1 { number } else { Self::STEPS - 1 - number };
        self.step(number, new, old)
    }

    fn byte_of(&self, code: Code) -> u8 {
        (code.word() >> (self.at * 8)) as u8
    }

    /// Writes `byte`, unless it passes what `code` has there.
    fn unless_passing(&self, code: Code, byte: u8) -> Option<StepBytes> {
        (self.byte_of(code) != self.byte).then_some(StepBytes::byte(self.at, byte))
    }

    fn behind(&self, code: Code) -> StepBytes {
        StepBytes::of(code, self.at + 1, code.len() as u8 - self.at - 1)
    }
}
