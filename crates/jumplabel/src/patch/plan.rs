//! What a transaction will write: turns requests into changes of sites. Nothing is written here.

use core::ops::Range;

use super::patchable::{Comparison, Effect, Patchable, complaint, nothing};
use super::purpose::Purpose;
use super::schedule::Schedule;
use super::site_change::{self, Run, SiteChange};
use super::{Request, hand_over};
use crate::arch::Demand;
use crate::error::Error;
use crate::format::Entry;
use crate::platform::list::List;
use crate::platform::{Extent, Held, Objects, Platform};
use crate::site::{index, object};
use crate::sort::sort_unstable_by;

/// Keeps the last request for each patchable. The result is in the order of the patchables' addresses.
pub(crate) fn last_wins<'a, 'key>(requests: &'a mut [Request<'key>]) -> &'a mut [Request<'key>] {
    for (request, order) in requests.iter_mut().zip(0..) {
        request.order = order;
        request.effect = Effect::None;
    }
    // A patchable is known by its address, whatever the types of the references to it.
    let address = |request: &Request<'_>| core::ptr::from_ref(request.patchable).cast::<u8>();
    sort_unstable_by(requests, |a, b| (address(a), a.order) < (address(b), b.order));
    // The last one for a patchable replaces those before it.
    let mut kept: usize = 0;
    for at in 0..requests.len() {
        let Some(&request) = requests.get(at) else { break };
        let before = kept.checked_sub(1).filter(|&last| requests.get(last).map(address) == Some(address(&request)));
        let place = before.unwrap_or(kept);
        if let Some(there) = requests.get_mut(place) {
            *there = request;
            kept = place + 1;
        }
    }
    requests.get_mut(..kept).unwrap_or_default()
}

/// A list up to this size is kept between transactions.
const KEPT_BYTES: usize = 384 * 1024;

/// The changes of a transaction, and the pages that they are on.
pub(super) struct Plan {
    pub(super) changes: List<SiteChange>,
    /// The place in `changes` of the longest [`Run`] whose sites change alike. Empty as soon as `changes` can have been sorted.
    run: Range<usize>,
    extents: List<Extent>,
    pub(super) manner: Manner,
    pub(super) findings: Findings,
}

/// What a plan does about sites that need not, or cannot, be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// All sites change, or none.
    Whole,
    /// As `Whole`, but sites that already do what is wanted by a longer way stay as they are.
    WithoutShortcuts,
    /// What cannot be changed stays.
    AsFarAsPossible,
}

/// What came up while a plan was made.
pub(super) struct Findings {
    /// Some site will load its key once the plan is carried out.
    pub(super) loads: bool,
    /// All sites do what is wanted even without the plan, because each change is of a site that loads its key and shall fall through.
    pub(super) can_load_instead: bool,
    /// Some sites could stay as they are, and do what is wanted by a longer way.
    pub(super) shortcuts: bool,
    /// Some site is not in the plan, because it could not be read, or holds bytes that are not known.
    #[cfg(jumplabel_sites)]
    pub(super) skipped: bool,
    /// Some alternatives have strayed, and are not in the plan.
    #[cfg(jumplabel_alternatives)]
    pub(super) alternatives: bool,
    /// Why something was left out.
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
        Plan { changes: List::new(), run: 0..0, extents: List::new(), manner: Manner::Whole, findings: Findings::NONE }
    }

    pub(super) fn clear(&mut self) {
        self.changes.truncate(0);
        self.run = 0..0;
        (self.manner, self.findings) = (Manner::Whole, Findings::NONE);
    }

    /// Called if the plan was refused, because other threads run that must not execute some of its sites meanwhile. Takes those sites out
    /// of the plan, if its manner allows that. Returns whether any site was taken out, so that the rest is worth a try.
    pub(super) fn leave_out(&mut self, refusal: Error) -> bool {
        let all = self.changes.len();
        if self.manner == Manner::AsFarAsPossible {
            self.retain(&|change| hand_over::steps_and_demand(change.code).1 < Demand::Unexecuted);
        }
        self.findings.left_out = Some(refusal).filter(|_| self.changes.len() < all);
        self.findings.left_out.is_some()
    }

    /// The address of the first change.
    pub(super) fn first(&self) -> Option<usize> {
        self.changes.first().map(|change| change.address)
    }

    /// Adds the changes that carry out `requests`, as `manner` says.
    pub(super) fn collect(
        &mut self,
        requests: &[Request<'_>],
        manner: Manner,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        (self.manner, self.findings.can_load_instead) = (manner, true);
        for object in object::all(held) {
            // The requests are in the order of the index, so each search begins where the last one ended.
            let mut place = 0;
            for request in requests {
                let (setting, purpose) = match request.effect {
                    Effect::None => continue,
                    Effect::Same(setting) => (setting, Purpose::Repair),
                    Effect::New(setting) => (setting, Purpose::Change),
                };
                self.add(object, &mut place, request.patchable, setting, purpose, held)?;
            }
        }
        Ok(())
    }

    /// Adds the changes that bring the sites of `patchable` to its setting, which stays the same.
    pub(super) fn collect_same(
        &mut self,
        patchable: &dyn Patchable,
        purpose: Purpose,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        object::all(held).try_for_each(|object| self.add(object, &mut 0, patchable, patchable.setting(), purpose, held))
    }

    /// Adds the changes that bring the sites of `patchable` in `object` to what `setting` asks of them. All sites of one kind and arm go to
    /// the same state. `place` is handed on to [`index::entries_behind`].
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
        // SAFETY: the entries are from the index, and the lock is held.
        unsafe { self.add_entries(entries, patchable, setting, purpose) }
            // SAFETY: the same entries, the same lock.
            .map_err(|(entry, setting)| unsafe { complaint(entry, patchable, setting) })
    }

    /// [`add`](Self::add), for entries. On an error, returns the entry, and the setting that its site does not fit: the site holds none of
    /// its states, or has no state for that setting.
    ///
    /// # Safety
    /// The entries are from the index, and the lock is held.
    unsafe fn add_entries<'held>(
        &mut self,
        entries: index::Entries<'held>,
        patchable: &dyn Patchable,
        setting: usize,
        purpose: Purpose,
    ) -> Result<(), (&'held Entry, usize)> {
        let stays = self.manner == Manner::WithoutShortcuts;
        let mut at = 0;
        while let Some(entry) = entries.get(at) {
            // SAFETY: the caller holds the lock, and the entries are from the index.
            let compared =
                unsafe { Comparison::at(entry, patchable, setting, purpose == Purpose::RestorePristine, nothing) };
            let Comparison { holds, mut wanted, mut change, can_stay } =
                compared.map_err(|setting| (entry, setting))?;
            let loads = site_change::loads(entry, holds);
            if purpose == Purpose::Repair {
                // Such a site does what it shall by a longer way.
                if can_stay | loads {
                    (wanted, change) = (holds, None);
                }
            } else {
                self.findings.loads |= site_change::loads(entry, wanted);
                self.findings.shortcuts |= can_stay && !stays;
            }
            self.findings.can_load_instead &= change.is_none() || loads;
            if can_stay & stays {
                change = None;
            }
            self.changes.extend(true, || change.take());
            at += 1;
            // Most sites have the kind and the state of the site before them.
            if at < entries.len()
                && let Some(run) = Run::of(entry, holds, wanted)
            {
                let (before, alike) = (self.changes.len(), run.is_alike());
                // SAFETY: the same entries, the same lock.
                at = unsafe { run.add(entries, at, &mut self.changes) };
                if alike && self.changes.len() - before > self.run.len() {
                    self.run = before..self.changes.len();
                }
            }
        }
        Ok(())
    }

    /// Keeps the changes for which `keep` returns true.
    #[inline(never)]
    pub(super) fn retain(&mut self, keep: &dyn Fn(&SiteChange) -> bool) {
        self.changes.retain(|change, _| keep(change));
    }

    /// Gives all memory back.
    #[cfg(jumplabel_sites)]
    pub(super) fn free(&mut self, platform: &dyn Platform) {
        self.changes.free(platform);
        self.extents.free(platform);
    }

    /// Makes room for the changes of any patchable. `sites` is the number of sites in all objects. Makes no more room than is kept between
    /// transactions.
    pub(super) fn prepare(&mut self, sites: usize, platform: &dyn Platform) -> Result<(), Error> {
        self.changes.reserve(sites.min(KEPT_BYTES / size_of::<SiteChange>()), platform)?;
        self.extents.reserve(1, platform)
    }

    /// Gives all memory back if it is more than is kept between transactions.
    pub(super) fn shrink(&mut self, platform: &dyn Platform) {
        if self.changes.bytes() + self.extents.bytes() > KEPT_BYTES {
            self.changes.free(platform);
            self.extents.free(platform);
        }
    }

    /// What is to be written. `None` if there is nothing to write.
    #[inline(never)]
    pub(super) fn schedule(&mut self, platform: &dyn Platform) -> Result<Option<Schedule<'_>>, Error> {
        Schedule::of(&mut self.changes, core::mem::take(&mut self.run), &mut self.extents, platform)
    }
}
