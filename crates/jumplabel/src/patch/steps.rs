//! The steps of a transaction, and the way back.
//!
//! ```text
//!   for each step of the arch                    for each step that was begun, last first
//!     write its piece at every site                write what undoes its piece at every site that has it
//!     core sync, if anything was written           core sync; where it is refused, sites of several steps stay there
//! ```
//!
//! On x86 a flip of primed sites is one step of one byte each; elsewhere every flip is one step; see `arch`.

use super::plan::Edit;
use crate::arch::{self, Piece};
use crate::error::Errno;
use crate::text::Writer;

/// One step, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number.
    pub number: u8,
    /// Whether it is being taken back.
    pub undo: bool,
}

impl Step {
    /// What the step writes at a site, `None` where the site has no part in it.
    #[must_use]
    #[inline]
    pub fn piece(self, edit: &Edit) -> Option<Piece> {
        let of = if self.undo { arch::undo } else { arch::step };
        of(self.number, edit.from, edit.to, edit.displacement)
    }

    /// What the step writes: each piece, with those of `edits` that take it, which follow each other, and the number of the first.
    #[cfg_attr(not(jumplabel_linux), allow(dead_code))]
    pub(crate) fn pieces(self, edits: &[Edit]) -> Pieces<'_> {
        Pieces { step: self, edits, at: 0 }
    }
}

/// [`Step::pieces`].
pub(crate) struct Pieces<'a> {
    step: Step,
    edits: &'a [Edit],
    at: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (usize, &'a [Edit], Piece);

    #[inline(never)] // One for all writers. There are few pieces in a large batch.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let first = self.at;
            let rest = self.edits.get(first..)?;
            let edit = rest.first()?;
            let piece = self.step.piece(edit);
            // A byte is the same for sites that change alike. More may be a displacement.
            let count = match piece {
                Some(piece) if piece.len > 1 => 1,
                _ => rest.iter().take_while(|other| (other.from, other.to) == (edit.from, edit.to)).count(),
            };
            self.at += count;
            if let (Some(piece), Some(alike)) = (piece, rest.get(..count)) {
                return Some((first, alike, piece));
            }
        }
    }
}

/// Why a writer did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It refused, and all sites are as before; where core sync was refused on the way back, some are in a state in
    /// between that does the same.
    Refused(Errno),
    /// Core sync was refused between two steps. The sites are as after `Refused`.
    Unsynced(Errno),
    /// It refused, and refused to undo what it had written.
    Stuck {
        /// The first site that was not restored.
        address: usize,
        /// What it met.
        errno: Errno,
    },
}

/// Carries the edits out, by the steps that `steps` has a bit for. On a refusal all sites are as before, unless undoing is
/// refused too.
pub(crate) fn run(edits: &[Edit], steps: u8, writer: &mut dyn Writer) -> Result<(), Failure> {
    for number in (0..arch::STEPS).filter(|number| steps & 1 << number != 0) {
        // SAFETY: the writer was opened for these edits.
        if let Err((at, errno)) = unsafe { writer.write(edits, Step { number, undo: false }) } {
            take_back(edits, number, at, writer)?;
            return Err(Failure::Refused(errno));
        }
        let Err(errno) = writer.sync() else { continue };
        if steps >> number > 1 {
            // A thread may still run what it fetched before this step, so the next one must not be taken. This step's
            // undo is as harmless as the step was.
            take_back(edits, number, edits.len(), writer)?;
            return Err(Failure::Unsynced(errno));
        }
    }
    Ok(())
}

/// Undoes all steps at all sites, however far they got: each undo is right at a site that never took the step, because
/// it writes what is there, or, on x86, because the bytes behind `a9` do not matter and `a9` falls through.
pub(super) fn undo(edits: &[Edit], writer: &mut dyn Writer) -> Result<(), Failure> {
    take_back(edits, arch::STEPS - 1, edits.len(), writer)
}

/// Undoes step `last` at the first `count` sites, and the steps before it at all sites. Where core sync is refused on the
/// way, a site that takes several steps stays in between, where it does what it did at first; one that takes a single step
/// is restored all the same, because that needs no core sync before it.
fn take_back(edits: &[Edit], last: u8, count: usize, writer: &mut dyn Writer) -> Result<(), Failure> {
    let mut synced = true;
    for number in (0..=last).rev() {
        let part = edits.get(..count).filter(|_| number == last).unwrap_or(edits);
        if synced {
            take_back_one(part, number, writer)?;
        } else {
            part.chunks(1)
                .filter(|edit| edit.iter().all(|edit| steps_of(edit) == 1 << number))
                .try_for_each(|edit| take_back_one(edit, number, writer))?;
        }
        synced &= writer.sync().is_ok();
    }
    Ok(())
}

/// Undoes step `number` at `edits`.
fn take_back_one(edits: &[Edit], number: u8, writer: &mut dyn Writer) -> Result<(), Failure> {
    // SAFETY: the writer was opened for a list with these edits.
    unsafe { writer.write(edits, Step { number, undo: true }) }
        .map_err(|(at, errno)| Failure::Stuck { address: edits.get(at).map_or(0, |edit| edit.address), errno })
}

/// A bit for each step that a site takes part in.
pub(super) fn steps_of(edit: &Edit) -> u8 {
    let takes = |number: &u8| Step { number: *number, undo: false }.piece(edit).is_some();
    (0..arch::STEPS).filter(takes).fold(0, |steps, number| steps | 1 << number)
}
