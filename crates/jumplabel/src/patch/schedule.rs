//! What the writers have to do for the changes of a plan: in which order, on which pages, in which steps.

use core::ops::Range;

use super::hand_over;
use super::site_change::SiteChange;
use crate::arch::{CodeChange, Demand};
use crate::error::Error;
use crate::platform::list::List;
use crate::platform::{Extent, Platform, SPAN_GAP_PAGES, Summary};
use crate::sort::sort_unstable_by;

/// What is to be written, in order.
pub(super) struct Schedule<'a> {
    /// If a way back ends before a site's first state, what the site holds is noted here.
    pub(super) changes: &'a mut [SiteChange],
    pub(super) extents: &'a [Extent],
    pub(super) summary: Summary,
    /// A bit for each step that some site takes part in.
    pub(super) steps: u8,
    /// Sites that take several steps.
    pub(super) several: usize,
    /// What the writes need.
    pub(super) demand: Demand,
}

impl<'a> Schedule<'a> {
    /// The schedule of `changes`: it orders them by address, each once, and fills `extents`. `None` if there is nothing to do. Those of
    /// the `run` have one pattern, and are in order.
    #[inline(never)]
    pub(super) fn of(
        changes: &'a mut List<SiteChange>,
        mut run: Range<usize>,
        extents: &'a mut List<Extent>,
        platform: &dyn Platform,
    ) -> Result<Option<Self>, Error> {
        if changes.is_empty() {
            return Ok(None);
        }
        let (mut steps, mut several, mut demand) = (0_u8, 0, Demand::Nothing);
        // The address of the last change, and its pattern, if others take the same steps.
        let (mut before, mut like, mut at) = (0, 0, 0);
        while let Some(change) = changes.get(at) {
            // The sites of one patchable in one object are in order, because the index is.
            if change.address <= before {
                sort(changes);
                run = 0..0;
                (steps, several, demand) = (0, 0, Demand::Nothing);
                (before, like, at) = (0, 0, 0);
                continue;
            }
            let pattern = change.code.pattern();
            if pattern != like {
                like = if CodeChange::is_of_first_byte(pattern) { pattern } else { 0 };
                let (these, needed) = hand_over::steps_and_demand(change.code);
                steps |= these;
                several += usize::from(these & these.wrapping_sub(1) != 0); // None of a first byte.
                demand = demand.max(needed);
            }
            // If one of a run takes the steps of all, it speaks for them.
            at = if at == run.start && like != 0 { run.end.max(at + 1) } else { at + 1 };
            before = changes.get(at - 1).map_or(0, |change| change.address);
        }
        let [pages, spans] = pages(changes, extents, platform)?;
        let single_store = demand == Demand::SingleStore;
        let summary =
            Summary { sites: changes.len(), pages, spans, steps: steps.count_ones(), single_store, unsynced: false };
        Ok(Some(Schedule { changes: changes.as_mut_slice(), extents, summary, steps, several, demand }))
    }
}

/// Fills `extents`, and counts the pages that `changes` begin on, and their spans.
fn pages(changes: &[SiteChange], extents: &mut List<Extent>, platform: &dyn Platform) -> Result<[usize; 2], Error> {
    let page = platform.page_size();
    let page_end = |address: usize| (address & !(page - 1)) + page;
    let (mut pages, mut spans, mut rest) = (0, 0, changes);
    // Where the last page ends that a change begins on, and the last one that a change ends on.
    let (mut begun, mut ended) = (0, 0);
    extents.truncate(0);
    while let Some(first) = rest.first() {
        spans += usize::from(pages == 0 || first.address - begun >= SPAN_GAP_PAGES * page);
        pages += 1;
        begun = page_end(first.address);
        let (here, later) = rest.split_at(rest.partition_point(|change| change.address < begun).max(1));
        let end = here.last().map_or(0, |change| change.address + change.code.old.len());
        match extents.as_mut_slice().last_mut().filter(|_| first.address < ended) {
            Some(extent) => extent.end = end,
            None => extents.push(Extent { first: first.address, end }, platform)?,
        }
        ended = page_end(end - 1);
        rest = later;
    }
    Ok([pages, spans])
}

/// Sorts by address and removes what is listed twice.
#[cold]
fn sort(changes: &mut List<SiteChange>) {
    sort_unstable_by(changes.as_mut_slice(), |a, b| a.address < b.address);
    changes.retain(|change, kept| kept.last().is_none_or(|last| last.address != change.address));
}
