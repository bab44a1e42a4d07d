//! Schedules the changes of a plan: sorts them, and finds the pages to open and the steps to take.

use core::ops::Range;

use super::site_change::SiteChange;
use super::{Outcome, hand_over};
use crate::arch::{Arch, CodeChange, Demand, Native};
use crate::error::{Error, Refusal, Refusals};
use crate::platform::list::List;
use crate::platform::{Extent, Platform, SPAN_GAP_PAGES, Summary, Warnings, WriteReport, WriterKind, WriterList};
use crate::sort::sort_unstable_by;

/// Facts about all changes together, and the fate of the changes.
pub(super) struct Facts {
    pub(super) summary: Summary,
    /// The position of a run of changes that all have the same [`pattern`](CodeChange::pattern). Empty if the changes had to be sorted.
    pub(super) alike: Range<usize>,
    /// The steps that at least one site takes: one bit for each step.
    pub(super) steps: u8,
    /// The number of sites that take several steps.
    pub(super) several: usize,
    /// The greatest demand of all writes.
    pub(super) demand: Demand,
    pub(super) fate: Fate,
}

/// The fate of the changes of a plan.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    /// Nothing was written. If `loading` is 0, the plan had no changes, or all of them were left out. Otherwise the system refused, and `loading`
    /// sites go on loading their keys.
    Unwritten {
        loading: usize,
        warnings: Warnings,
    },
    Written {
        writer: WriterKind,
        report: WriteReport,
    },
}

/// The refusals that a transaction has met so far.
#[derive(Clone, Copy)]
pub(super) struct Met {
    /// The first site that a writer could not restore.
    pub(super) stuck: Option<usize>,
    /// The reason why core sync was refused.
    pub(super) core_sync: Refusal,
    pub(super) refused: Refusals,
    /// The writers to try, in order.
    pub(super) writers: WriterList,
}

impl Met {
    pub(super) const NOTHING: Met =
        Met { stuck: None, core_sync: Refusal::NOT_TRIED, refused: Refusals::NONE, writers: WriterList::NONE };
}

impl Facts {
    /// The facts of an empty plan. All fields are zero, so that a static with this value takes no room in a file.
    pub(super) const NONE: Facts = Facts {
        summary: Summary { sites: 0, pages: 0, spans: 0, steps: 0, single_store: false, unsynced: false },
        alike: 0..0,
        steps: 0,
        several: 0,
        demand: Demand::Nothing,
        fate: Fate::Unwritten { loading: 0, warnings: Warnings { left_writable: false } },
    };

    /// The outcome of the transaction, without its time.
    pub(super) fn outcome(&self) -> Outcome {
        match self.fate {
            Fate::Unwritten { loading, warnings } => Outcome { loading, warnings, ..Outcome::default() },
            Fate::Written { writer, report: WriteReport { visibility, warnings } } => Outcome {
                sites: self.summary.sites,
                pages: self.summary.pages,
                primed: self.several,
                writer: Some(writer),
                visibility,
                warnings,
                ..Outcome::default()
            },
        }
    }

    /// Sorts `changes` by address, removes duplicates, and fills `extents`. Records the facts about the changes. The caller ensures that the
    /// changes in `run` all have the same pattern, and are in the order of their addresses.
    #[inline(never)]
    pub(super) fn note(
        &mut self,
        changes: &mut List<SiteChange>,
        mut run: Range<usize>,
        extents: &mut List<Extent>,
        platform: &dyn Platform,
    ) -> Result<(), Error> {
        let (mut steps, mut several, mut demand) = (0_u8, 0, Demand::Nothing);
        // `before` is the address of the previous change. `like` is the pattern of that change if all changes with that pattern take the same
        // steps, and otherwise 0.
        let (mut before, mut like, mut at) = (0, 0, 0);
        while let Some(change) = changes.get(at) {
            // The changes are not in order, because they are of several patchables or objects. (The index has the sites of one patchable in one
            // object in order.) So the function sorts all changes, and begins again.
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
            // If the pattern determines the steps of a change, all changes of the run take the steps of the first one. So the loop skips the
            // others.
            at = if !Native::SINGLE_STORE && at == run.start && like != 0 { run.end.max(at + 1) } else { at + 1 };
            before = changes.get(at - 1).map_or(0, |change| change.address);
        }
        let [pages, spans] = pages(changes, extents, platform)?;
        let single_store = demand == Demand::SingleStore;
        let taken = if Native::STEPS > 1 { steps.count_ones() } else { steps.into() };
        let summary = Summary { sites: changes.len(), pages, spans, steps: taken, single_store, unsynced: false };
        *self = Facts { summary, alike: run, steps, several, demand, fate: Facts::NONE.fate };
        Ok(())
    }
}

/// Fills `extents`. Returns the number of pages on which `changes` begin, and the number of spans that these pages form.
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
    retain(changes, &|change, kept| kept.last().is_none_or(|last| last.address != change.address));
}

/// Keeps the changes for which `keep` returns true. The second argument of `keep` is a slice of the changes that were kept so far.
#[inline(never)]
pub(super) fn retain(changes: &mut List<SiteChange>, keep: &dyn Fn(&SiteChange, &[SiteChange]) -> bool) {
    changes.retain(keep);
}
