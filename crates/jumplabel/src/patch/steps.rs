//! The steps of a transaction, and the way back.
//!
//! ```text
//!   for each step of the arch                    for each step that was begun, last first
//!     write its piece at every site                write what undoes its piece at every site that has it
//!     core sync, if anything was written           core sync; if it is refused, sites of several steps stay there
//! ```
//!
//! On x86 a flip of primed sites is one step of one byte each; elsewhere every flip is one step; see `arch`. Here edits become
//! [`Write`]s: a writer knows nothing of steps.

use super::edit::Edit;
use crate::arch::{self, Arch, Change, Demand, Native, Piece};
use crate::error::Errno;
use crate::text::{Failure, Write, Writer};

/// How many writes a writer is given at once: few, because they are on the stack, which may be a signal handler's.
const BLOCK: usize = 32;

/// What a change writes in a step, or on the way back from it.
#[inline(never)] // Most edits of a large batch write what the one before does.
fn piece(change: Change, number: u8, back: bool) -> Option<Piece> {
    if back { change.undo::<Native>(number) } else { change.step::<Native>(number) }
}

/// Carries the edits out, by the steps that `steps` has a bit for. On a refusal all sites are as before, unless undoing is
/// refused too.
pub(super) fn run(edits: &mut [Edit], steps: u8, writer: &mut dyn Writer) -> Result<(), Failure> {
    for number in (0..Native::STEPS).filter(|number| steps & 1 << number != 0) {
        if let Err((at, errno)) = write(edits, number, false, writer) {
            take_back(edits, number, at, writer)?;
            return Err(Failure::Refused(errno));
        }
        let Err(errno) = writer.sync() else { continue };
        if steps >> number > 1 {
            // A thread may still run what it fetched before this step, so the next step must not be taken. To undo this step
            // is as harmless as the step was.
            take_back(edits, number, edits.len(), writer)?;
            return Err(Failure::Unsynced(errno));
        }
    }
    Ok(())
}

/// The same with the next writer. If the one before it was `stuck` and could not undo, this one undoes first, and then goes on as if nothing
/// had been.
#[inline(never)] // Once in a program is enough.
pub(super) fn go_on(
    edits: &mut [Edit],
    steps: u8,
    stuck: &mut Option<usize>,
    writer: &mut dyn Writer,
) -> Result<(), Failure> {
    if stuck.is_some() {
        undo(edits, writer)?;
        *stuck = None;
    }
    run(edits, steps, writer)
}

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
fn take_back(edits: &mut [Edit], last: u8, count: usize, writer: &mut dyn Writer) -> Result<(), Failure> {
    let mut synced = true;
    for number in (0..=last).rev() {
        let part = edits.get(..count).filter(|_| number == last).unwrap_or(edits);
        if synced {
            take_back_one(part, number, writer)?;
        } else {
            part.chunks(1)
                .filter(|edit| edit.iter().all(|edit| of(edit.change) == 1 << number))
                .try_for_each(|edit| take_back_one(edit, number, writer))?;
        }
        // Behind the last of them there is nothing to wait for.
        synced &= writer.sync().is_ok() || number == 0;
    }
    if !synced {
        edits.iter_mut().filter(|edit| of(edit.change).count_ones() > 1).for_each(Edit::look_again);
    }
    Ok(())
}

/// Undoes step `number` at `edits`.
fn take_back_one(edits: &[Edit], number: u8, writer: &mut dyn Writer) -> Result<(), Failure> {
    let stuck = |(at, errno)| Failure::Stuck { address: edits.get(at).map_or(0, |edit: &Edit| edit.address), errno };
    write(edits, number, true, writer).map_err(stuck)
}

/// A bit for each step that a change takes.
pub(super) fn of(change: Change) -> u8 {
    look(change).0
}

/// The same, and what they need.
pub(super) fn look(change: Change) -> (u8, Demand) {
    let (mut steps, mut demand) = (0, Demand::Nothing);
    for number in 0..Native::STEPS {
        if let Some(piece) = piece(change, number, false) {
            steps |= 1 << number;
            demand = demand.max(piece.demand);
        }
    }
    (steps, demand)
}

/// Hands what `edits` write in a step, or on the way back, to the writer. On a refusal: at which of them, and why.
fn write(edits: &[Edit], number: u8, back: bool, writer: &mut dyn Writer) -> Result<(), (usize, Errno)> {
    let mut block = [Write::NONE; BLOCK];
    let mut rest = edits;
    // What the last edit wrote, at address 0, and its pattern, if others may write the same.
    let (mut like, mut template) = (0, None);
    while !rest.is_empty() {
        let (mut taken, mut len) = (0, 0);
        for edit in rest {
            let Some(place) = block.get_mut(len) else { break };
            // While this block is made and stored, the lines of the next one come.
            if let Some(later) = rest.get(taken + BLOCK) {
                arch::prefetch_to_write(later.address);
            }
            taken += 1;
            let pattern = edit.change.pattern();
            if pattern != like {
                // A whole word has other bytes, too.
                like = if !Native::WHOLE && Change::is_of_first_byte(pattern) { pattern } else { 0 };
                let write = |piece: Piece| {
                    Write::short(piece.offset.into(), piece.bytes, piece.len, piece.demand == Demand::OneStore)
                };
                template = piece(edit.change, number, back).map(write);
            }
            if let Some(write) = &template {
                *place = Write { address: edit.address + write.address, ..*write };
                len += 1;
            }
        }
        let (done, later) = rest.split_at_checked(taken).unwrap_or((rest, &[]));
        let writes = block.get(..len).filter(|writes| !writes.is_empty());
        // SAFETY: the writer was opened for the extents of these edits.
        if let Some(Err((at, errno))) = writes.map(|writes| unsafe { writer.write(writes) }) {
            return Err((edits.len() - rest.len() + nth_that_writes(done, at, number, back), errno));
        }
        rest = later;
    }
    Ok(())
}

/// The place of the edit that has the write number `nth`.
#[cold]
fn nth_that_writes(edits: &[Edit], nth: usize, number: u8, back: bool) -> usize {
    let mut writes = 0;
    for (at, edit) in edits.iter().enumerate() {
        if piece(edit.change, number, back).is_some() {
            if writes == nth {
                return at;
            }
            writes += 1;
        }
    }
    edits.len()
}
