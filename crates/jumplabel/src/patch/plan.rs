//! What a transaction will write: requests to edits. Nothing is written here.

use core::ops::Range;

use super::edit::{self, Edit, Run};
use super::subject::{Found, Subject, complaint};
use super::work::Work;
use super::{Request, writes};
use crate::arch::Demand;
use crate::error::Error;
use crate::format::Entry;
use crate::site::{index, object};
use crate::sort::sort_unstable_by;
use crate::text::list::List;
use crate::text::{Extent, Held, Objects, Text};

/// Keeps the last request for each subject. The result is in the order of the subjects' addresses.
pub(crate) fn last_wins<'a, 'key>(requests: &'a mut [Request<'key>]) -> &'a mut [Request<'key>] {
    for (request, order) in requests.iter_mut().zip(0..) {
        request.order = order;
        request.aim = None;
    }
    // A subject is known by its address, whatever the types of the references to it.
    let address = |request: &Request<'_>| core::ptr::from_ref(request.subject).cast::<u8>();
    sort_unstable_by(requests, |a, b| (address(a), a.order) < (address(b), b.order));
    // The last one for a subject replaces those before it.
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

/// The edits of a transaction, and the pages that they are on.
pub(super) struct Plan {
    edits: List<Edit>,
    /// Which of them are of the longest [`Run`] whose sites change alike. Empty once they may have been sorted.
    run: Range<usize>,
    extents: List<Extent>,
    /// Some site loads its key, once the plan is carried out.
    loads: bool,
    /// All sites do what is wanted without the plan: each edit is for a site that loads and shall fall through.
    spare: bool,
    /// Some sites could stay as they are, and do what is wanted by a longer way.
    shortcuts: bool,
    /// They do.
    without: bool,
    /// What cannot be changed beside threads stays as it is.
    lenient: bool,
}

impl Plan {
    pub(super) const fn new() -> Plan {
        Plan {
            edits: List::new(),
            run: 0..0,
            extents: List::new(),
            loads: false,
            spare: false,
            shortcuts: false,
            without: false,
            lenient: false,
        }
    }

    pub(super) fn clear(&mut self) {
        self.edits.truncate(0);
        self.run = 0..0;
        (self.loads, self.spare, self.shortcuts, self.without, self.lenient) = (false, false, false, false, false);
    }

    /// Whether some site loads its key when the plan was carried out: it sees the count that is published then.
    pub(super) fn loads(&self) -> bool {
        self.loads
    }

    /// The plan was refused. The number of its sites, if each of them does what is wanted without it, by loading.
    pub(super) fn go_on_loading(&mut self) -> Option<usize> {
        self.loads |= self.spare;
        self.spare.then_some(self.edits.len())
    }

    /// The plan was refused, because there are threads that must not see it carried out: whether it goes on without what demands that.
    pub(super) fn leave_out(&mut self) -> bool {
        let all = self.edits.len();
        if self.lenient {
            self.retain(&|edit| writes::look(edit.change).1 < Demand::NoWitness);
        }
        self.edits.len() < all
    }

    /// Whether a plan without shortcuts would be another one.
    pub(super) fn has_shortcuts(&self) -> bool {
        self.shortcuts
    }

    /// The address of the first edit.
    pub(super) fn first(&self) -> Option<usize> {
        self.edits.first().map(|edit| edit.address)
    }

    /// The edits that carry out `requests`, those among them that make a way shorter only if `shortcuts`.
    pub(super) fn collect(
        &mut self,
        requests: &[Request<'_>],
        shortcuts: bool,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        (self.spare, self.without) = (true, !shortcuts);
        for request in requests {
            let (subject, Some(aim)) = (request.subject, request.aim) else { continue };
            self.add(subject, aim, false, held)?;
        }
        Ok(())
    }

    /// The edits that bring the sites of `subject` to the states that the compiler emits for what they do. (Sites that load because
    /// they were never patched do more than that.)
    pub(super) fn collect_emitted(&mut self, subject: &dyn Subject, held: &Held<Objects>) -> Result<(), Error> {
        self.add(subject, subject.aim(), true, held)
    }

    /// The edits that bring the sites of `object` to what their subjects say: those of sites that are wrong now, or, if `loading`, of
    /// the others, which load. If a site cannot be brought there, the others still are; the next change of its subject reports the
    /// error.
    #[cfg(jumplabel_sites)]
    pub(super) fn collect_object(
        &mut self,
        object: &crate::format::Object,
        loading: bool,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        self.lenient = true;
        self.edits.reserve(object.table().len(), held.text())?;
        for (entry, address) in index::sound(object, held) {
            // SAFETY: an entry that was looked at, under the lock; the object of its subject was loaded before this one.
            let Some(subject) = (unsafe { super::subject::of(entry, address) }) else { continue };
            // SAFETY: the same.
            let found = unsafe { Found::at(entry, subject, subject.aim(), false, super::subject::in_copy) };
            let Ok(found) = found else { continue };
            // The next change of its subject takes a shortcut.
            let due = !found.can_stay && edit::loads(entry, found.state) == loading;
            if let Some(edit) = found.edit.filter(|_| due) {
                self.edits.push(edit, held.text())?;
            }
        }
        Ok(())
    }

    /// The edits that bring the sites of `subject` to what `aim` wants, in the state that the compiler emits for that if `as_emitted`.
    /// All entries of a kind and an arm go to one state.
    fn add(&mut self, subject: &dyn Subject, aim: usize, as_emitted: bool, held: &Held<Objects>) -> Result<(), Error> {
        for object in object::all(held) {
            let entries = index::entries(object, subject.address(), held)?;
            self.edits.reserve(entries.len(), held.text())?;
            // SAFETY: entries from the index, under the lock.
            if let Err((entry, aim)) = unsafe { self.add_entries(entries, subject, aim, as_emitted) } {
                // SAFETY: the same.
                return Err(unsafe { complaint(entry, subject, aim) });
            }
        }
        Ok(())
    }

    /// The part of [`add`](Self::add) for one object. Stops at an entry whose site cannot do what an aim says: it holds none of its states,
    /// or there is none for the aim.
    ///
    /// # Safety
    /// Entries from the index, under the lock.
    unsafe fn add_entries<'held>(
        &mut self,
        entries: index::Entries<'held>,
        subject: &dyn Subject,
        aim: usize,
        as_emitted: bool,
    ) -> Result<(), (&'held Entry, usize)> {
        let mut at = 0;
        while let Some(entry) = entries.get(at) {
            // SAFETY: by the contract.
            let found = unsafe { Found::at(entry, subject, aim, as_emitted, |_, _| None) };
            let Found { state, to, mut edit, can_stay } = found.map_err(|aim| (entry, aim))?;
            self.loads |= edit::loads(entry, to);
            self.spare &= edit.is_none() || edit::loads(entry, state);
            self.shortcuts |= can_stay && !self.without;
            if can_stay & self.without {
                edit = None;
            }
            self.edits.extend(|| edit.take());
            at += 1;
            // Most sites are of the kind and in the state of the one before.
            if at < entries.len()
                && let Some(run) = Run::of(entry, state, to)
            {
                let (before, alike) = (self.edits.len(), run.is_alike());
                // SAFETY: by the contract.
                at = unsafe { run.add(entries, at, &mut self.edits) };
                if alike && self.edits.len() - before > self.run.len() {
                    self.run = before..self.edits.len();
                }
            }
        }
        Ok(())
    }

    /// Keeps the edits that `keep` says.
    #[inline(never)] // Once in a program is enough.
    pub(super) fn retain(&mut self, keep: &dyn Fn(&Edit) -> bool) {
        self.edits.retain(|edit, _| keep(edit));
    }

    /// Gives all memory back.
    #[cfg(jumplabel_sites)]
    pub(super) fn free(&mut self, text: &dyn Text) {
        self.edits.free(text);
        self.extents.free(text);
    }

    /// Makes room for the edits of any subject, if all objects have `sites` sites, but no more than would be kept.
    pub(super) fn prepare(&mut self, sites: usize, text: &dyn Text) -> Result<(), Error> {
        self.edits.reserve(sites.min(KEPT_BYTES / size_of::<Edit>()), text)?;
        self.extents.reserve(1, text)
    }

    /// Gives memory back, if it is too much to be kept.
    pub(super) fn shrink(&mut self, text: &dyn Text) {
        if self.edits.bytes() + self.extents.bytes() > KEPT_BYTES {
            self.edits.free(text);
            self.extents.free(text);
        }
    }

    /// What is to be written. `None` if there is nothing to do.
    #[inline(never)] // Once in a program is enough.
    pub(super) fn work(&mut self, text: &dyn Text) -> Result<Option<Work<'_>>, Error> {
        Work::of(&mut self.edits, core::mem::take(&mut self.run), &mut self.extents, text)
    }
}
