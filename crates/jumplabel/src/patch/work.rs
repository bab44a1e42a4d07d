//! What the writers have to do for the edits of a plan: in which order, on which pages, in which steps.

use core::ops::Range;

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
    /// The work that `edits` are: it orders them by address, each once, and fills `extents`. `None` if there is nothing to do. Those of
    /// the `run` have one pattern, and are in order.
    #[inline(never)]
    pub(super) fn of(
        edits: &'a mut List<Edit>,
        run: Range<usize>,
        extents: &'a mut List<Extent>,
        text: &dyn Text,
    ) -> Result<Option<Self>, Error> {
        if edits.is_empty() {
            return Ok(None);
        }
        let (mut steps, mut several, mut demand) = (0_u8, 0, Demand::Nothing);
        // The address of the last edit, and its pattern, if others take the same steps.
        let (mut before, mut like, mut at) = (0, 0, 0);
        while let Some(edit) = edits.get(at) {
            // The sites of one subject in one object are in order, because the index is.
            if edit.address <= before {
                sort(edits);
                return Work::of(edits, 0..0, extents, text);
            }
            let pattern = edit.change.pattern();
            if pattern != like {
                like = if Rewrite::is_of_first_byte(pattern) { pattern } else { 0 };
                let (these, needed) = writes::look(edit.change);
                steps |= these;
                several += usize::from(these & these.wrapping_sub(1) != 0); // None of a first byte.
                demand = demand.max(needed);
            }
            // If one of a run takes the steps of all, it speaks for them.
            at = if at == run.start && like != 0 { run.end.max(at + 1) } else { at + 1 };
            before = edits.get(at - 1).map_or(0, |edit| edit.address);
        }
        let [pages, spans] = pages(edits, extents, text)?;
        let whole = demand == Demand::OneStore;
        let summary = Summary { sites: edits.len(), pages, spans, steps: steps.count_ones(), whole, unsynced: false };
        Ok(Some(Work { edits: edits.as_mut_slice(), extents, summary, steps, several, demand }))
    }
}

/// Fills `extents`, and counts the pages that `edits` begin on, and their spans.
fn pages(edits: &[Edit], extents: &mut List<Extent>, text: &dyn Text) -> Result<[usize; 2], Error> {
    let page = text.page_size();
    let page_end = |address: usize| (address & !(page - 1)) + page;
    let (mut pages, mut spans, mut rest) = (0, 0, edits);
    // Where the last page ends that an edit begins on, and the last one that an edit ends on.
    let (mut begun, mut ended) = (0, 0);
    extents.truncate(0);
    while let Some(first) = rest.first() {
        spans += usize::from(pages == 0 || first.address - begun >= SPAN_GAP_PAGES * page);
        pages += 1;
        begun = page_end(first.address);
        let (here, later) = rest.split_at(rest.partition_point(|edit| edit.address < begun).max(1));
        let end = here.last().map_or(0, |edit| edit.address + edit.change.old.len());
        match extents.as_mut_slice().last_mut().filter(|_| first.address < ended) {
            Some(extent) => extent.end = end,
            None => extents.push(Extent { first: first.address, end }, text)?,
        }
        ended = page_end(end - 1);
        rest = later;
    }
    Ok([pages, spans])
}

/// Sorts by address and removes what is listed twice.
#[cold]
fn sort(edits: &mut List<Edit>) {
    sort_unstable_by(edits.as_mut_slice(), |a, b| a.address < b.address);
    edits.retain(|edit, kept| kept.last().is_none_or(|last| last.address != edit.address));
}
