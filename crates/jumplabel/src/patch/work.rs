//! What the writers have to do for the edits of a plan: in which order, on which pages, in which steps.

use super::edit::Edit;
use super::writes;
use crate::arch::{Demand, Rewrite};
use crate::error::Error;
use crate::sort::sort_unstable_by;
use crate::text::list::List;
use crate::text::{Extent, SPAN_GAP_PAGES, Summary, Text};

/// What is to be written, in order.
pub(super) struct Work<'a> {
    /// If a way back ends before a site's first state, `steps` notes here what the site holds.
    pub(super) edits: &'a mut [Edit],
    pub(super) extents: &'a [Extent],
    pub(super) summary: Summary,
    /// A bit for each step that some site takes part in.
    pub(super) steps: u8,
    /// Sites that take several steps.
    pub(super) several: usize,
    /// What the writes need.
    pub(super) demand: Demand,
}

impl<'a> Work<'a> {
    /// The work that `edits` are: it orders them by address, each once, and fills `extents`. `None` if there is nothing to do.
    #[inline(never)]
    pub(super) fn of(
        edits: &'a mut List<Edit>,
        extents: &'a mut List<Extent>,
        text: &dyn Text,
    ) -> Result<Option<Self>, Error> {
        if edits.is_empty() {
            return Ok(None);
        }
        let (page, page_of) = (text.page_size(), !(text.page_size() - 1));
        let sites = edits.len();
        let mut summary = Summary { sites, pages: 0, spans: 0, steps: 0, whole: false, unsynced: false };
        let (mut all_steps, mut several, mut demand) = (0_u8, 0, Demand::Nothing);
        let mut extent = Extent { first: 0, end: 0 };
        // The last edit and its pattern; where the page ends that its site begins on, and the one that it ends on.
        let (mut last, mut last_end, mut like) = (0, 0, 0);
        let (mut page_end, mut extent_end) = (0, 0);
        extents.truncate(0);
        for edit in edits.iter() {
            let (pattern, end) = (edit.change.pattern(), edit.address + edit.change.old.len());
            // Most sites change as the one before, on the same page.
            if pattern == like && last < edit.address && end <= page_end {
                (last, last_end) = (edit.address, end);
                continue;
            }
            // The sites of one subject in one object are in order, because the index is.
            if edit.address <= last {
                sort(edits);
                return Work::of(edits, extents, text);
            }
            if pattern != like {
                like = if Rewrite::is_of_first_byte(pattern) { pattern } else { 0 };
                let (steps, more) = writes::look(edit.change);
                all_steps |= steps;
                several += usize::from(steps & steps.wrapping_sub(1) != 0); // None of a first byte.
                demand = demand.max(more);
            }
            if edit.address >= page_end {
                let gap = edit.address - page_end;
                summary.spans += usize::from(summary.pages == 0 || gap >= SPAN_GAP_PAGES * page);
                summary.pages += 1;
                page_end = (edit.address & page_of) + page;
            }
            if edit.address >= extent_end {
                if extent_end > 0 {
                    extent.end = last_end;
                    extents.push(extent, text)?;
                }
                (extent.first, extent_end) = (edit.address, page_end);
            }
            if end > extent_end {
                extent_end += page;
            }
            (last, last_end) = (edit.address, end);
        }
        extent.end = last_end;
        extents.push(extent, text)?;
        summary.steps = all_steps.count_ones();
        summary.whole = demand == Demand::OneStore;
        let edits = edits.as_mut_slice();
        Ok(Some(Work { edits, extents, summary, steps: all_steps, several, demand }))
    }
}

/// Sorts by address and removes what is listed twice.
#[cold]
fn sort(edits: &mut List<Edit>) {
    sort_unstable_by(edits.as_mut_slice(), |a, b| a.address < b.address);
    edits.retain(|edit, kept| kept.last().is_none_or(|last| last.address != edit.address));
}
