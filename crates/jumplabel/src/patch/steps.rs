//! Carries out the steps of a transaction.
//!
//! ```text
//!   forward: for each step, the first one first  back (`undo`): for each step that was begun, the last one first
//!     write the step's bytes at every site         undo the step at every site that has taken it
//!     core sync                                    core sync; if it is refused, a site that takes several steps stays at this step
//! ```
//!
//! On x86, a flip of a key whose sites are all primed takes one step, which writes one byte at each site. On other instruction sets, a flip of a key
//! takes one step. There is one exception: on s390x, a jump that loaded the key may have to lead to another place, which takes three steps. The crate
//! jumplabel-format defines the steps (`CodeChange::step`).

use core::ops::Range;

use super::hand_over::{Block, hand_over};
use super::site_change::SiteChange;
use super::undo::take_back;
use crate::arch::{Arch, Native};
use crate::platform::{Failure, Writer};

/// Carries out the changes. The changes in `alike` have the same [`pattern`](crate::arch::CodeChange::pattern). `steps` has one bit for each step to
/// take. If a step is refused, undoes all steps. Then all sites are as before, unless the undo is refused, too.
// In kernels, compilers would inline it twice: in the closure that calls it, and in the closure's `FnOnce`.
#[cfg_attr(all(target_os = "none", not(any(target_arch = "x86_64", target_arch = "x86"))), inline(never))]
pub(super) fn run(
    changes: &[SiteChange],
    alike: &Range<usize>,
    steps: u8,
    writer: &mut dyn Writer,
    block: &mut Block,
) -> Result<(), Failure> {
    let mut rest = steps;
    while rest != 0 {
        let number = if Native::STEPS > 1 { rest.trailing_zeros() as u8 } else { 0 };
        rest &= rest - 1;
        if let Err((at, refusal)) = hand_over(changes, alike, number, false, writer, block) {
            take_back(changes, number, at, writer, block)?;
            return Err(Failure::Refused(refusal));
        }
        let Err(refusal) = writer.sync() else { continue };
        if Native::STEPS > 1 && rest != 0 {
            // Without a core sync, a thread can still run instructions that it fetched before this step. So the next step must not be taken. To undo
            // this step is as safe as the step was.
            take_back(changes, number, changes.len(), writer, block)?;
            return Err(Failure::Unsynced(refusal));
        }
    }
    Ok(())
}
