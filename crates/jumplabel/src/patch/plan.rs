//! What a transaction will write: turns requests into changes of sites. Nothing is written here.

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

/// The lists of a plan keep their memory between transactions, if both together have no more bytes than this.
const KEPT_BYTES: usize = 384 * 1024;

/// The changes of a transaction, and the pages that they are on.
pub(super) struct Plan {
    /// Once they are scheduled, in the order of their addresses.
    pub(super) changes: List<SiteChange>,
    /// Where in `changes` the longest [`Run`] lies whose sites all change alike. Empty as soon as `changes` can have been sorted.
    run: Range<usize>,
    pub(super) extents: List<Extent>,
    pub(super) facts: Facts,
    pub(super) block: Block,
    pub(super) met: Met,
    pub(super) manner: Manner,
    pub(super) findings: Findings,
    /// When the transaction began.
    pub(super) start: Duration,
}

/// What a plan does about sites that need not, or cannot, be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// All sites change, or none.
    Whole,
    /// As `Whole`, but sites that already do what is wanted by a longer way stay as they are.
    WithoutShortcuts,
    /// Sites that cannot be changed stay as they are. All others change.
    AsFarAsPossible,
}

/// What came up while a plan was made.
pub(super) struct Findings {
    /// Some site will load its key after the plan was carried out.
    pub(super) loads: bool,
    /// All sites do what is wanted even without the plan, because each change is of a site that loads its key.
    pub(super) can_load_instead: bool,
    /// Some call of the plan could also stay as it is: it would do what is wanted, by a longer way.
    pub(super) shortcuts: bool,
    /// Some site is not in the plan, because it cannot be read, or because it holds none of its states.
    #[cfg(jumplabel_sites)]
    pub(super) skipped: bool,
    /// Some alternatives have strayed, and are not in the plan.
    #[cfg(jumplabel_alternatives)]
    pub(super) alternatives: bool,
    /// Why [`Plan::leave_out`] took sites out, if it did.
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

    /// Called if the plan was refused with `error`, perhaps because of changes whose demand is `demand` or a greater one: no other thread must
    /// execute these sites while they change, and other threads run; or no writer that can change them by a single store may write. Takes
    /// them out of the plan, if the plan's manner allows that. Returns whether it took any out and the rest is worth a try.
    #[inline(never)]
    pub(super) fn leave_out(&mut self, demand: Demand, error: Error) -> bool {
        let all = self.changes.len();
        if self.manner == Manner::AsFarAsPossible {
            self.retain(&|change| hand_over::steps_and_demand(change.code).1 < demand);
        }
        self.findings.left_out = Some(error).filter(|_| self.changes.len() < all);
        // If no writer may write at all, that is the result of the transaction.
        self.findings.left_out.is_some() && (demand != Demand::SingleStore || !self.changes.is_empty())
    }

    /// The address of the first change.
    pub(super) fn first(&self) -> Option<usize> {
        self.changes.first().map(|change| change.address)
    }

    /// Adds the changes that carry out `requests`, as `manner` says.
    pub(super) fn collect(
        &mut self,
        requests: &[PendingRequest<'_>],
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

    /// Adds the changes that bring the sites of `patchable` to its present setting.
    pub(super) fn collect_same(
        &mut self,
        patchable: &dyn Patchable,
        purpose: Purpose,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        object::all(held).try_for_each(|object| self.add(object, &mut 0, patchable, patchable.setting(), purpose, held))
    }

    /// Adds the changes that bring the sites of `patchable` in `object` to what `setting` asks of them. Sites that have both the kind and
    /// the arm in common all go to the same state. `place` is handed on to [`index::entries_behind`]. The caller has called
    /// [`index::demand`].
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
            // SAFETY: the lock is held, and the entries are from the index.
            let compared =
                unsafe { Comparison::at(entry, patchable, setting, purpose == Purpose::RestorePristine, nothing) };
            let compared = match compared {
                Ok(compared) => compared,
                // SAFETY: the same entry, the same lock.
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
                // SAFETY: the same entries, the same lock.
                at = unsafe { self.add_run(entries, at, [holds, wanted]) };
            }
        }
        Ok(())
    }

    /// Adds the changes of those entries from `at` on whose sites are like the one of the entry before: most are of the same kind, and in
    /// the same state. Returns the place of the first entry that is not. `states` are the state of that site, and the one that it shall have.
    ///
    /// # Safety
    /// The entries are from the index, and the lock is held.
    #[inline(never)]
    unsafe fn add_run(&mut self, entries: index::Entries<'_>, at: usize, [holds, wanted]: [State; 2]) -> usize {
        // SAFETY: the same entries, the same lock; the site of this entry was just compared.
        let Some(run) = entries.get(at - 1).and_then(|entry| unsafe { Run::of(entry, holds, wanted) }) else {
            return at;
        };
        let (before, alike) = (self.changes.len(), run.is_alike());
        // SAFETY: the same entries, the same lock.
        let at = unsafe { run.add(entries, at, &mut self.changes) };
        if alike && self.changes.len() - before > self.run.len() {
            self.run = before..self.changes.len();
        }
        at
    }

    /// Removes all changes but those for which `keep` returns true.
    pub(super) fn retain(&mut self, keep: &dyn Fn(&SiteChange) -> bool) {
        schedule::retain(&mut self.changes, &|change, _| keep(change));
    }

    /// Gives all memory back.
    #[cfg(jumplabel_sites)]
    pub(super) fn free(&mut self, platform: &dyn Platform) {
        self.changes.free(platform);
        self.extents.free(platform);
    }

    /// Makes room for the changes of any patchable, but no more room than [`KEPT_BYTES`]. `sites` is the number of sites in all objects.
    pub(super) fn prepare(&mut self, sites: usize, platform: &dyn Platform) -> Result<(), Error> {
        self.changes.reserve(sites.min(KEPT_BYTES / size_of::<SiteChange>()), platform)?;
        self.extents.reserve(1, platform)
    }

    /// Gives all memory back if it is more than [`KEPT_BYTES`].
    pub(super) fn shrink(&mut self, platform: &dyn Platform) {
        if self.changes.bytes() + self.extents.bytes() > KEPT_BYTES {
            self.changes.free(platform);
            self.extents.free(platform);
        }
    }

    /// Puts the changes in order, and notes the facts about them. False if there is nothing to write.
    #[inline(never)]
    pub(super) fn schedule(&mut self, platform: &dyn Platform) -> Result<bool, Error> {
        if self.changes.is_empty() {
            return Ok(false);
        }
        self.facts.note(&mut self.changes, core::mem::take(&mut self.run), &mut self.extents, platform)?;
        Ok(true)
    }
}
