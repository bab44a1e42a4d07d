//! Carries out the steps of a transaction.
//!
//! ```text
//!   there: for each step of the arch             back (`undo`): for each step that was begun, the last one first
//!     write its bytes at every site                write what undoes it at every site that has taken it
//!     core sync, if anything was written           core sync; if it is refused, a site of several steps stays at this step
//! ```
//!
//! On x86, a flip of a key whose sites are all primed takes one step, which writes one byte at each site. On other instruction sets, every flip
//! of a key takes one step. The steps are in the module `arch`.

use core::ops::Range;

use super::hand_over::{Block, hand_over};
use super::site_change::SiteChange;
use super::undo::take_back;
use crate::platform::{Failure, Writer};

/// Carries out the changes. Those in `alike` have the same pattern. `steps` has a bit for each step to take. If a step is refused, undoes all
/// steps. Then all sites are as before, unless the undo is refused, too.
pub(super) fn run(
    changes: &[SiteChange],
    alike: &Range<usize>,
    steps: u8,
    writer: &mut dyn Writer,
    block: &mut Block,
) -> Result<(), Failure> {
    let mut rest = steps;
    while rest != 0 {
        let number = rest.trailing_zeros() as u8;
        rest &= rest - 1;
        if let Err((at, refusal)) = hand_over(changes, alike, number, false, writer, block) {
            take_back(changes, number, at, writer, block)?;
            return Err(Failure::Refused(refusal));
        }
        let Err(refusal) = writer.sync() else { continue };
        if rest != 0 {
            // Without a core sync, a thread can still run instructions that it fetched before this step. So the next step must not be taken.
            // This step can be undone, which is as safe as the step was.
            take_back(changes, number, changes.len(), writer, block)?;
            return Err(Failure::Unsynced(refusal));
        }
    }
    Ok(())
}
