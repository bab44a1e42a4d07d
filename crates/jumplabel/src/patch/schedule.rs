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
    /// Sorted by address. The slice is mutable because the steps can have been undone, but not up to the bytes that a site held at first.
    /// Then what the site holds now is noted here.
    pub(super) changes: &'a mut [SiteChange],
    pub(super) extents: &'a [Extent],
    pub(super) summary: Summary,
    /// A bit for each step. It is set if some site takes that step.
    pub(super) steps: u8,
    /// The number of sites that take several steps.
    pub(super) several: usize,
    /// The greatest demand of all writes.
    pub(super) demand: Demand,
}

impl<'a> Schedule<'a> {
    /// Makes the schedule of `changes`. Sorts the changes by address, removes duplicates, and fills `extents`. `None` if there are no
    /// changes. The caller ensures that the changes in `run` all have the same pattern, and are in the order of their addresses.
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
        // `before` is the address of the last change. `like` is its pattern, if all changes with that pattern take the same steps, or else
        // 0.
        let (mut before, mut like, mut at) = (0, 0, 0);
        while let Some(change) = changes.get(at) {
            // The index has the sites of one patchable in one object in order. Sites of several patchables or objects can need sorting.
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
                several += usize::from(these & these.wrapping_sub(1) != 0); // A change of the first byte alone takes one step.
                demand = demand.max(needed);
            }
            // If the pattern says which steps a change takes, all changes of the run take the steps of the first one. Then the loop skips
            // the others.
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

/// Fills `extents`. Returns how many pages `changes` begin on, and how many spans they form.
fn pages(changes: &[SiteChange], extents: &mut List<Extent>, platform: &dyn Platform) -> Result<[usize; 2], Error> {
    let page = platform.page_size();
    let page_end = |address: usize| (address & !(page - 1)) + page;
    let (mut pages, mut spans, mut rest) = (0, 0, changes);
    // `begun` is the end of the last page on which a change begins. `ended` is the end of the last page on which a change ends.
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

/// Sorts `changes` by address, and removes duplicates.
#[cold]
fn sort(changes: &mut List<SiteChange>) {
    sort_unstable_by(changes.as_mut_slice(), |a, b| a.address < b.address);
    changes.retain(|change, kept| kept.last().is_none_or(|last| last.address != change.address));
}
