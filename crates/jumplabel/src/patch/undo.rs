//! The way back from a step that was refused: [`steps`](super::steps) has both ways in a figure.

use super::edit::Edit;
use super::writes::{steps_of, write};
use crate::arch::{Arch, Native};
use crate::text::{Failure, Writer};

/// Undoes all steps at all sites, however far they got: each undo is right at a site that never took the step
/// ([`Arch::undo`]).
pub(super) fn undo(edits: &mut [Edit], writer: &mut dyn Writer) -> Result<(), Failure> {
    take_back(edits, Native::STEPS - 1, edits.len(), writer)
}

/// Undoes step `last` at the first `count` sites, and the steps before it at all sites.
///
/// If core sync is refused on the way, a site that takes several steps stays in between, where it does what it did at first. From
/// then on its edit begins there: whoever tries next must not take the site for what it was. A site that takes a single step is
/// restored all the same, because that needs no core sync before it.
pub(super) fn take_back(edits: &mut [Edit], last: u8, count: usize, writer: &mut dyn Writer) -> Result<(), Failure> {
    let mut synced = true;
    for number in (0..=last).rev() {
        let part = edits.get(..count).filter(|_| number == last).unwrap_or(edits);
        if synced {
            take_back_one(part, number, writer)?;
        } else {
            part.chunks(1)
                .filter(|edit| edit.iter().all(|edit| steps_of(edit.change) == 1 << number))
                .try_for_each(|edit| take_back_one(edit, number, writer))?;
        }
        // Behind the last of them there is nothing to wait for.
        synced &= writer.sync().is_ok() || number == 0;
    }
    if !synced {
        edits.iter_mut().filter(|edit| steps_of(edit.change).count_ones() > 1).for_each(Edit::look_again);
    }
    Ok(())
}

/// Undoes step `number` at `edits`.
fn take_back_one(edits: &[Edit], number: u8, writer: &mut dyn Writer) -> Result<(), Failure> {
    let stuck = |(at, errno)| Failure::Stuck { address: edits.get(at).map_or(0, |edit: &Edit| edit.address), errno };
    write(edits, number, true, writer).map_err(stuck)
}
