//! The plan of a transaction: the changes of sites that carry out its requests. This file makes the plan, and writes no code.

use core::ops::Range;
use core::time::Duration;

use super::hand_over::{self, Block, EMPTY};
use super::patchable::{Comparison, Effect, Patchable, complaint, nothing};
use super::purpose::Purpose;
use super::requests::PendingRequest;
use super::schedule::{self, Facts, Met};
use super::site_change::{Run, SiteChange};
use crate::arch::{Demand, State};
use crate::error::Error;
use crate::platform::list::List;
use crate::platform::{Extent, Held, Objects, Platform};
use crate::site::{index, object};

/// The largest number of bytes that the two lists of a plan keep between transactions. If the lists have more, [`Plan::shrink`] frees their memory.
const KEPT_BYTES: usize = 384 * 1024;

/// The changes of a transaction, and the pages on which they are.
pub(super) struct Plan {
    /// The changes, in the order of their addresses once they are scheduled.
    pub(super) changes: List<SiteChange>,
    /// The position in `changes` of the longest [`Run`] of sites that all change alike. Empty once the plan was scheduled, because that may sort the
    /// changes.
    run: Range<usize>,
    pub(super) extents: List<Extent>,
    pub(super) facts: Facts,
    pub(super) block: Block,
    pub(super) met: Met,
    pub(super) manner: Manner,
    pub(super) findings: Findings,
    /// The time at which the transaction began.
    pub(super) start: Duration,
}

/// The treatment of sites that need not, or cannot, be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// All sites change, or none.
    Whole,
    /// All sites change, or none, except those that already do the wanted action by a longer way: these sites stay as they are.
    WithoutShortcuts,
    /// Sites that cannot be changed stay as they are. All others change.
    AsFarAsPossible,
}

/// Facts that were found while the plan was made.
pub(super) struct Findings {
    /// Whether any site loads its key once the plan is carried out.
    pub(super) loads: bool,
    /// Whether all sites do the wanted action even if the plan is not carried out, because each change is of a site that loads its key.
    pub(super) can_load_instead: bool,
    /// Whether any call in the plan could also stay as it is, because the call already leads to the right place by a longer way.
    pub(super) shortcuts: bool,
    /// Whether any site is not in the plan because it cannot be read, or because it is in none of its states.
    #[cfg(jumplabel_sites)]
    pub(super) skipped: bool,
    /// Whether any alternatives have strayed. Alternatives are not in the plan.
    #[cfg(jumplabel_alternatives)]
    pub(super) alternatives: bool,
    /// The error because of which [`Plan::leave_out`] took sites out of the plan. `None` if no site was taken out.
    pub(super) left_out: Option<Error>,
}

impl Findings {
    const NONE: Findings = Findings {
        loads: false,
        can_load_instead: false,
        shortcuts: false,
        #[cfg(jumplabel_sites)]
        skipped: false,
        #[cfg(jumplabel_alternatives)]
        alternatives: false,
        left_out: None,
    };
}

impl Plan {
    pub(super) const fn new() -> Plan {
        Plan {
            changes: List::new(),
            run: 0..0,
            extents: List::new(),
            facts: Facts::NONE,
            block: EMPTY,
            met: Met::NOTHING,
            manner: Manner::Whole,
            findings: Findings::NONE,
            start: Duration::ZERO,
        }
    }

    pub(super) fn clear(&mut self, start: Duration) {
        self.start = start;
        self.changes.truncate(0);
        self.run = 0..0;
        (self.manner, self.findings) = (Manner::Whole, Findings::NONE);
    }

    /// Called when all writers have refused the plan with `error`. If the plan's manner is [`AsFarAsPossible`](Manner::AsFarAsPossible), takes the
    /// changes that may be the cause out of the plan: those whose demand is at least `demand`. If `demand` is `Unexecuted`, other threads run, but
    /// must not execute the sites of these changes meanwhile. If `demand` is `SingleStore`, no allowed writer can write these sites by a single store
    /// each.
    ///
    /// Returns true if the rest is worth a try: a change was taken out, and another one is left or `demand` is `Unexecuted`.
    #[inline(never)]
    pub(super) fn leave_out(&mut self, demand: Demand, error: Error) -> bool {
        let all = self.changes.len();
        if self.manner == Manner::AsFarAsPossible {
            self.retain(&|change| hand_over::steps_and_demand(change.code).1 < demand);
        }
        self.findings.left_out = Some(error).filter(|_| self.changes.len() < all);
        // If no change is left, possibly no writer may write at all. Then the transaction returns `error`.
        self.findings.left_out.is_some() && (demand != Demand::SingleStore || !self.changes.is_empty())
    }

    /// The address of the first change; `None` if there is none.
    pub(super) fn first(&self) -> Option<usize> {
        self.changes.first().map(|change| change.address)
    }

    /// Adds the changes that carry out `requests`, as `manner` says.
    #[inline(never)]
    pub(super) fn collect(
        &mut self,
        requests: &[PendingRequest<'_>],
        manner: Manner,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        (self.manner, self.findings.can_load_instead) = (manner, true);
        for object in object::all(held) {
            // The requests are in the order of the index, so the search for each begins where the previous search ended.
            let mut place = 0;
            for request in requests {
                let (setting, purpose) = match request.effect {
                    Effect::None | Effect::Joins | Effect::Left => continue,
                    Effect::Same(setting) => (setting, Purpose::Repair),
                    Effect::New(setting) => (setting, Purpose::Change),
                };
                self.add(object, &mut place, request.patchable, setting, purpose, held)?;
            }
        }
        Ok(())
    }

    /// Adds the changes that set the sites of `patchable` to its present setting.
    pub(super) fn collect_same(
        &mut self,
        patchable: &dyn Patchable,
        purpose: Purpose,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        object::all(held).try_for_each(|object| self.add(object, &mut 0, patchable, patchable.setting(), purpose, held))
    }

    /// Adds the changes that set the sites of `patchable` in `object` to `setting`. `place` is passed on to [`index::entries_behind`]. The caller has
    /// called [`index::demand`].
    #[inline(never)]
    fn add(
        &mut self,
        object: &crate::format::Object,
        place: &mut usize,
        patchable: &dyn Patchable,
        setting: usize,
        purpose: Purpose,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        let entries = index::entries_behind(place, object, patchable.address(), held)?;
        self.changes.reserve(entries.len(), held.platform())?;
        let stays = self.manner == Manner::WithoutShortcuts;
        let mut at = 0;
        while let Some(entry) = entries.get(at) {
            // SAFETY: the lock is held, and the entries come from the index.
            let compared =
                unsafe { Comparison::at(entry, patchable, setting, purpose == Purpose::RestorePristine, nothing) };
            let compared = match compared {
                Ok(compared) => compared,
                // SAFETY: the lock is held, and the entry comes from the index.
                Err(setting) => return Err(unsafe { complaint(entry, patchable, setting) }),
            };
            let Comparison { holds, wanted, mut change, can_stay, leads_on } = compared;
            let loads = can_stay & entry.loads();
            if purpose == Purpose::Change {
                self.findings.loads |= leads_on & entry.loads();
                self.findings.shortcuts |= can_stay & !loads & !stays;
            }
            self.findings.can_load_instead &= change.is_none() || loads;
            if !purpose.writes(entry, &compared, stays & !loads) {
                change = None;
            }
            self.changes.extend(true, || change.take());
            at += 1;
            if at < entries.len() && !can_stay && purpose != Purpose::Prepare {
                // SAFETY: the lock is held, and the entries come from the index.
                at = unsafe { self.add_run(entries, at, [holds, wanted]) };
            }
        }
        Ok(())
    }

    /// Adds the changes of the entries from `at` on, as long as their sites are like the site of the entry before `at`: of the same kind, with the
    /// same `Entry::arm`, and in the same state. (Most sites are.) Returns the position of the first entry that was not added. `holds` is the state
    /// of the site before `at`, and `wanted` is the state that this site must have.
    ///
    /// # Safety
    /// The entries are from the index, and the lock is held.
    #[inline(never)]
    unsafe fn add_run(&mut self, entries: index::Entries<'_>, at: usize, [holds, wanted]: [State; 2]) -> usize {
        // SAFETY: the caller says that the entries are from the index and that the lock is held. The site of this entry was just compared.
        let Some(run) = entries.get(at - 1).and_then(|entry| unsafe { Run::of(entry, holds, wanted) }) else {
            return at;
        };
        let (before, alike) = (self.changes.len(), run.is_alike());
        // SAFETY: the caller says that the entries are from the index, and that the lock is held.
        let at = unsafe { run.add(entries, at, &mut self.changes) };
        if alike && self.changes.len() - before > self.run.len() {
            self.run = before..self.changes.len();
        }
        at
    }

    /// Keeps only the changes for which `keep` returns true.
    pub(super) fn retain(&mut self, keep: &dyn Fn(&SiteChange) -> bool) {
        schedule::retain(&mut self.changes, &|change, _| keep(change));
    }

    /// Frees all memory of the plan.
    #[cfg(jumplabel_sites)]
    pub(super) fn free(&mut self, platform: &dyn Platform) {
        self.changes.free(platform);
        self.extents.free(platform);
    }

    /// Makes room for the changes of all sites, but for no more than [`KEPT_BYTES`]. `sites` is the number of sites in all objects.
    pub(super) fn prepare(&mut self, sites: usize, platform: &dyn Platform) -> Result<(), Error> {
        self.changes.reserve(sites.min(KEPT_BYTES / size_of::<SiteChange>()), platform)?;
        self.extents.reserve(1, platform)
    }

    /// Frees all memory of the plan if it is more than [`KEPT_BYTES`].
    pub(super) fn shrink(&mut self, platform: &dyn Platform) {
        if self.changes.bytes() + self.extents.bytes() > KEPT_BYTES {
            self.changes.free(platform);
            self.extents.free(platform);
        }
    }

    /// Puts the changes in order, and records the facts about them. Returns false if there is nothing to write.
    #[inline(never)]
    pub(super) fn schedule(&mut self, platform: &dyn Platform) -> Result<bool, Error> {
        if self.changes.is_empty() {
            return Ok(false);
        }
        self.facts.note(&mut self.changes, core::mem::take(&mut self.run), &mut self.extents, platform)?;
        Ok(true)
    }
}
