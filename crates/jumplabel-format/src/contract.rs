//! The trait that each instruction set implements.

use crate::{Code, StepBytes};

/// An instruction set: how far its jumps reach, and how a site changes while other threads run it.
pub trait Arch {
    /// The length of a site in bytes, unless the site's kind has another length.
    const SIZE: usize = 4;

    /// Whether a site is one aligned word that one store writes. On other instruction sets, the bytes of a step can be written in any order,
    /// unless the step demands more.
    const SINGLE_STORE: bool = true;

    /// The largest number of steps that a change of a site takes. A core sync follows each step.
    const STEPS: u8 = 1;

    /// The offset of the displacement, if it fills four bytes of the instruction, in little endian. (In an instruction without a
    /// displacement, these four bytes mean something else.) `None` if the displacement is encoded in another way.
    const TAIL: Option<u32> = None;

    /// The displacement from the site at `address` to `target`, as the instruction counts it. `None` if the instruction does not reach the
    /// target.
    fn displacement(address: u64, target: u64) -> Option<i32>;

    /// The bytes that step `number` writes on the way from `old` to `new`; `None` if the step has nothing to do. A thread that executes the site
    /// during the change must do the same as under `old` or under `new`. If only the first byte changes, its old and new value alone determine
    /// the steps and the bytes that they write, except that a step that writes a whole word also writes the word's other bytes.
    #[doc(hidden)]
    #[inline]
    fn step(_number: u8, old: Code, new: Code) -> Option<StepBytes> {
        let step_bytes = StepBytes::difference(old, new)?;
        Some(if Self::SINGLE_STORE { StepBytes::all(new) } else { step_bytes })
    }

    /// The bytes that take step `number` back. A transaction may write them even at a site that did not take the step. After all steps are
    /// taken back, such a site must hold `old` again.
    #[doc(hidden)]
    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        Self::step(number, new, old)
    }
}
