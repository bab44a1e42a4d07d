//! Edits become [`Write`]s, step by step: a writer knows nothing of steps.

use super::edit::Edit;
use crate::arch::{self, Arch, Demand, Native, Piece, Rewrite};
use crate::error::Errno;
use crate::text::{Write, Writer};

/// How many writes a writer is given at once: few, because they are on the stack, which may be a signal handler's.
const BLOCK: usize = 16;

/// What a change writes in a step, or on the way back from it.
#[inline(never)] // Most edits of a large batch write what the one before does.
fn piece(change: Rewrite, number: u8, back: bool) -> Option<Piece> {
    if back { change.undo::<Native>(number) } else { change.step::<Native>(number) }
}

/// A bit for each step that a change takes.
pub(super) fn steps_of(change: Rewrite) -> u8 {
    look(change).0
}

/// The same, and what they need.
pub(super) fn look(change: Rewrite) -> (u8, Demand) {
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
pub(super) fn write(edits: &[Edit], number: u8, back: bool, writer: &mut dyn Writer) -> Result<(), (usize, Errno)> {
    let mut block = [Write::NONE; BLOCK];
    let mut done = 0;
    // The last edit's pattern, if others may write the same, and what it wrote, at address 0, if anything.
    let (mut like, mut template, mut count) = (0, Write::NONE, 0);
    for edits_here in edits.chunks(BLOCK) {
        let mut len = 0;
        for (edit, ahead) in edits_here.iter().zip(done + BLOCK..) {
            // While this block is made and stored, the lines of the next one come.
            if let Some(later) = edits.get(ahead) {
                arch::prefetch_to_write(later.address);
            }
            let pattern = edit.change.pattern();
            if like == 0 || pattern != like {
                // A whole word has other bytes, too.
                like = if !Native::WHOLE && Rewrite::is_of_first_byte(pattern) { pattern } else { 0 };
                let piece = piece(edit.change, number, back);
                count = usize::from(piece.is_some());
                template = piece.map_or(Write::NONE, |Piece { offset, len, bytes, demand }| {
                    Write::short(offset.into(), bytes, len, demand == Demand::OneStore)
                });
            }
            if let Some(place) = block.get_mut(len) {
                *place = template.at(edit.address);
                len += count;
            }
        }
        let writes = block.get(..len).filter(|writes| !writes.is_empty());
        // SAFETY: the writer was opened for the extents of these edits.
        if let Some(Err((at, errno))) = writes.map(|writes| unsafe { writer.write(writes) }) {
            return Err((done + nth_that_writes(edits_here, at, number, back), errno));
        }
        done += edits_here.len();
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
