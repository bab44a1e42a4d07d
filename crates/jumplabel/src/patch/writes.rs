//! Edits become [`Write`]s, step by step: a writer knows nothing of steps.

use super::edit::Edit;
use crate::arch::{self, Arch, Demand, Native, Piece, Rewrite};
use crate::error::Errno;
use crate::text::{Write, Writer};

/// How many writes a writer is given at once: few, because they are on the stack, which may be a signal handler's.
const BLOCK: usize = 32;

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
                like = if !Native::WHOLE && Rewrite::is_of_first_byte(pattern) { pattern } else { 0 };
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
