//! Hands a step to a writer. A writer knows nothing of steps, so each change of a site becomes a [`Write`] of the bytes that the step writes.

use core::ops::Range;

use super::site_change::SiteChange;
use crate::arch::{self, Arch, CodeChange, Demand, Native, StepBytes};
use crate::error::Refusal;
use crate::platform::{Write, Writer};

/// The number of writes that a writer gets at once.
const BLOCK: usize = 16;

/// The writes that a writer gets at once. These writes are kept in the plan, and not on the stack, because a signal handler or a thread of a kernel
/// can have a small stack. The lock protects the plan.
pub(super) type Block = [Write; BLOCK];

pub(super) const EMPTY: Block = [Write::NONE; BLOCK];

/// The bytes that a change writes in step `number`. If `back` is true, the bytes that undo that step. `None` if nothing has to be written.
#[inline(never)] // Called rarely: most changes of a large batch write the same bytes as the change before.
fn step_bytes(change: CodeChange, number: u8, back: bool) -> Option<StepBytes> {
    if back { change.undo::<Native>(number) } else { change.step::<Native>(number) }
}

/// The steps that a change takes: one bit for each step.
pub(super) fn steps_of(change: CodeChange) -> u8 {
    steps_and_demand(change).0
}

/// Like [`steps_of`]. Also returns the greatest demand of the writes in these steps.
#[inline(never)]
pub(super) fn steps_and_demand(change: CodeChange) -> (u8, Demand) {
    let (mut steps, mut demand) = (0, Demand::Nothing);
    // The loop begins with the last step. Most changes are of the first byte alone, and take no other step.
    for number in (0..Native::STEPS).rev() {
        if let Some(step_bytes) = step_bytes(change, number, false) {
            steps |= 1 << number;
            demand = demand.max(step_bytes.demand);
            if CodeChange::is_of_first_byte(change.pattern()) {
                break;
            }
        }
    }
    (steps, demand)
}

/// Hands the writes of step `number` of all `changes` to the writer. If `back` is true, hands over the writes that undo this step. If the writer
/// refuses a write, the error has the position in `changes` of the change that makes this write, and the reason. The changes in `alike` have the same
/// [`pattern`](CodeChange::pattern).
pub(super) fn hand_over(
    changes: &[SiteChange],
    alike: &Range<usize>,
    number: u8,
    back: bool,
    writer: &mut dyn Writer,
    block: &mut Block,
) -> Result<(), (usize, Refusal)> {
    let mut done = 0;
    // `like` is the pattern of the previous change, if all changes with that pattern write the same bytes; otherwise 0. `template` is the write of
    // the previous change, as for a site at address 0. `count` is 1 if the previous change writes anything in this step; otherwise 0.
    let (mut like, mut template, mut count) = (0, Write::NONE, 0);
    for edits_here in changes.chunks(BLOCK) {
        // The processor fetches the sites of the next block into its cache while this block is made and written.
        let later = changes.get(done + BLOCK..).unwrap_or_default();
        later.iter().take(BLOCK).for_each(|later| arch::prefetch_to_write(later.address));
        let mut len = 0;
        // If the previous change and all changes of this block are in `alike`, all of them write the same bytes.
        let is_known = like != 0 && alike.start < done && done + edits_here.len() <= alike.end;
        if is_known {
            block.iter_mut().zip(edits_here).for_each(|(place, change)| *place = template.at(change.address));
            len = edits_here.len() * count;
        }
        for change in if is_known { &[] } else { edits_here } {
            let pattern = change.code.pattern();
            if like == 0 || pattern != like {
                // If a change stores a whole word, the unchanged bytes of the word differ from site to site. So the pattern does not determine
                // the bytes that are written.
                like = if !Native::SINGLE_STORE && CodeChange::is_of_first_byte(pattern) { pattern } else { 0 };
                let step_bytes = step_bytes(change.code, number, back);
                count = usize::from(step_bytes.is_some());
                template = step_bytes.map_or(Write::NONE, |StepBytes { offset, len, bytes, demand }| {
                    Write::short(offset.into(), bytes, len, demand == Demand::SingleStore)
                });
            }
            if let Some(place) = block.get_mut(len) {
                *place = template.at(change.address);
                len += count;
            }
        }
        let writes = block.get(..len).filter(|writes| !writes.is_empty());
        // SAFETY: the writer was opened for the extents of these changes.
        if let Some(Err((at, refusal))) = writes.map(|writes| unsafe { writer.write(writes) }) {
            return Err((done + nth_that_writes(edits_here, at, number, back), refusal));
        }
        done += edits_here.len();
    }
    Ok(())
}

/// The position in `changes` of the change that makes write number `nth` of this step.
#[cold]
fn nth_that_writes(changes: &[SiteChange], nth: usize, number: u8, back: bool) -> usize {
    let mut writes = 0;
    for (at, change) in changes.iter().enumerate() {
        if step_bytes(change.code, number, back).is_some() {
            if writes == nth {
                return at;
            }
            writes += 1;
        }
    }
    changes.len()
}
