//! The contract of an instruction set.

use crate::{Code, StepBytes};

/// An instruction set: how far its jumps reach, and how a site changes while other threads run it.
pub trait Arch {
    /// Bytes of a site, unless its kind has another number.
    const SIZE: usize = 4;

    /// Whether a site is one aligned word, which one store writes. If not, its bytes may be written in any order.
    const SINGLE_STORE: bool = true;

    /// How many steps a change has at most; a core sync follows each.
    const STEPS: u8 = 1;

    /// The offset of a displacement that fills four bytes of the instruction, in little endian. In an instruction without a displacement,
    /// anything may be there. `None` if the displacement is encoded in another way.
    const TAIL: Option<u32> = None;

    /// From the site at `address` to `target`, as the instruction counts; `None` if it does not reach.
    fn displacement(address: u64, target: u64) -> Option<i32>;

    /// What step `number` writes on the way from `old` to `new`; `None` if it has nothing to do. Whatever a thread executes meanwhile
    /// must do what `old` or `new` does. If nothing but the first byte changes, the steps and what they write depend on that byte
    /// only; the rest of a whole word is the exception.
    #[doc(hidden)]
    #[inline]
    fn step(_number: u8, old: Code, new: Code) -> Option<StepBytes> {
        let step_bytes = StepBytes::difference(old, new)?;
        Some(if Self::SINGLE_STORE { StepBytes::all(new) } else { step_bytes })
    }

    /// What takes step `number` back. When all steps are taken back, this must do no harm at a site that did not take the step.
    #[doc(hidden)]
    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        Self::step(number, new, old)
    }
}
