//! Undoes the steps of a transaction after a writer has refused. The figure in [`steps`](super::steps) shows the steps and the way back.

use super::hand_over::{Block, hand_over, steps_of};
use super::plan::Plan;
use super::site_change::SiteChange;
use crate::arch::{Arch, Native};
use crate::platform::{Failure, Held, Writer, WriterKind};

/// Undoes all steps at all sites, however many steps each site has taken. If a site never took a step, undoing that step there does no harm
/// ([`Arch::undo`]). Opens the writer `kind`, and closes it again. The sites are as before only if this function returns `Ok`: a writer that writes
/// to copies of pages can still refuse to put the copies in place.
///
/// # Safety
/// The changes of the plan are of verified sites of loaded objects, and are scheduled.
#[cold]
pub(super) unsafe fn undo(kind: WriterKind, plan: &mut Plan, held: &mut Held) -> Result<(), Failure> {
    let Plan { changes, extents, block, .. } = plan;
    let mut body = |writer: &mut dyn Writer| take_back(changes, Native::STEPS - 1, changes.len(), writer, block);
    // SAFETY: the caller passes the extents of verified sites of loaded objects, in order.
    unsafe { held.platform().open(kind, extents, held, &mut body) }.map(drop)
}

/// Undoes step `last` at the first `count` sites, and the steps before it at all sites.
///
/// If a core sync is refused on the way back, a site that takes several steps stays between two steps. In that state, the site does what it did
/// before the transaction. A site that takes a single step is restored nevertheless, because undoing a single step needs no earlier core sync.
#[cold]
#[inline(never)]
pub(super) fn take_back(
    changes: &[SiteChange],
    last: u8,
    count: usize,
    writer: &mut dyn Writer,
    block: &mut Block,
) -> Result<(), Failure> {
    let mut synced = true;
    for number in (0..=last).rev() {
        let part = changes.get(..count).filter(|_| number == last).unwrap_or(changes);
        if synced || Native::STEPS == 1 {
            take_back_one(part, number, writer, block)?;
        } else {
            part.chunks(1)
                .filter(|change| change.iter().all(|change| steps_of(change.code) == 1 << number))
                .try_for_each(|change| take_back_one(change, number, writer, block))?;
        }
        // No step follows the undo of step 0, so a core sync that is refused then does not matter.
        synced &= writer.sync().is_ok() || number == 0;
    }
    Ok(())
}

/// Undoes step `number` at `changes`.
fn take_back_one(
    changes: &[SiteChange],
    number: u8,
    writer: &mut dyn Writer,
    block: &mut Block,
) -> Result<(), Failure> {
    let stuck = |(at, refusal)| Failure::Stuck {
        address: changes.get(at).map_or(0, |change: &SiteChange| change.address),
        refusal,
    };
    hand_over(changes, &(0..0), number, true, writer, block).map_err(stuck)
}
