//! What a transaction will write: requests to edits. Nothing is written here.

use core::ops::Deref;

use super::Lock;
use super::steps::steps_of;
use crate::arch::{self, State};
use crate::error::Error;
use crate::key::RawKey;
use crate::key::count::{self, Change, Transition};
use crate::site::{Entry, index, object, read_site};
use crate::sort::sort_unstable_by;
use crate::text::Visibility;
use crate::text::list::{Guarded, List};

/// A change of one key in a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Request<'key> {
    pub(crate) key: &'key RawKey,
    pub(crate) change: Change,
    pub(crate) transition: Transition,
    order: u32,
}

impl<'key> Request<'key> {
    /// A request to be committed.
    #[must_use]
    pub(crate) const fn new(key: &'key RawKey, change: Change) -> Self {
        Request { key, change, transition: Transition::Done, order: 0 }
    }

    /// The sites are patched, and other threads see them as `visibility` says; `None` where that is not known.
    pub(super) fn publish(&self, visibility: Option<Visibility>) {
        match visibility {
            Some(Visibility::Immediate) => self.key.set_eventual(false),
            Some(Visibility::Eventual) if self.transition != Transition::Done => self.key.set_eventual(true),
            _ => {}
        }
        count::publish(self.key.word(), self.transition);
        if count::settles(self.change, self.transition) {
            self.key.set_due(false);
        }
    }

    /// The sites are as they were.
    pub(super) fn abandon(&self) {
        count::abandon(self.key.word(), self.transition);
    }
}

/// Keeps the last request for each key. The result is in the order of the keys' addresses.
pub(crate) fn last_wins<'a, 'key>(requests: &'a mut [Request<'key>]) -> &'a mut [Request<'key>] {
    for (request, order) in requests.iter_mut().zip(0..) {
        request.order = order;
        request.transition = Transition::Done;
    }
    let place = |request: &Request<'_>| (request.key.address(), request.order);
    sort_unstable_by(requests, |a, b| place(a) < place(b));
    // The last one for a key replaces those before it.
    let mut kept: usize = 0;
    for at in 0..requests.len() {
        let Some(&request) = requests.get(at) else { break };
        let before = kept
            .checked_sub(1)
            .filter(|&last| requests.get(last).is_some_and(|last| core::ptr::eq(last.key, request.key)));
        let place = before.unwrap_or(kept);
        if let Some(there) = requests.get_mut(place) {
            *there = request;
            kept = place + 1;
        }
    }
    requests.get_mut(..kept).unwrap_or_default()
}

/// A change of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Address of the site.
    pub address: usize,
    /// The displacement of its jump.
    pub displacement: i32,
    /// What it holds.
    pub from: State,
    /// What it shall hold.
    pub to: State,
}

impl Edit {
    /// The edit that brings `entry`'s site to the state of its key, `None` where it is there. Verifies the bytes.
    ///
    /// # Safety
    /// The entry is from the index of an object that the lock keeps loaded.
    #[cfg(jumplabel_sites)]
    #[inline(never)]
    unsafe fn plan(entry: &Entry, enabled: bool) -> Result<Option<Edit>, Error> {
        let jump = entry.jumps(enabled);
        // SAFETY: by the contract.
        match unsafe { Edit::verify(entry) } {
            Some(edit) => Ok(edit.leading_to(edit.from.toward(jump))),
            // SAFETY: by the contract.
            None => Err(unsafe { Edit::complaint(entry, !jump) }),
        }
    }

    /// An edit that changes nothing yet, `None` where the site holds none of its states.
    ///
    /// # Safety
    /// As for [`plan`](Self::plan).
    #[cfg(jumplabel_sites)]
    unsafe fn verify(entry: &Entry) -> Option<Edit> {
        // SAFETY: by the contract.
        unsafe { Edit::read(entry) }.filter(|edit| edit.from.is_of(entry.is_naked()))
    }

    /// The same, where the site may hold a state of the other kind of sites.
    ///
    /// # Safety
    /// As for [`plan`](Self::plan).
    #[inline]
    unsafe fn read(entry: &Entry) -> Option<Edit> {
        let address = entry.code();
        let displacement = arch::displacement(address, entry.target())?;
        // SAFETY: by the contract.
        let from = arch::decode(unsafe { read_site(address) }, displacement)?;
        Some(Edit { address, displacement, from, to: from })
    }

    /// What was found instead of the state that the site's key calls for.
    ///
    /// # Safety
    /// As for [`plan`](Self::plan).
    #[cold]
    unsafe fn complaint(entry: &Entry, jump: bool) -> Error {
        let displacement = match entry.displacement() {
            Ok(displacement) => displacement,
            Err(error) => return error,
        };
        let address = entry.code();
        // SAFETY: by the contract.
        let found = unsafe { read_site(address) };
        Error::ForeignBytes { address, expected: arch::encode(entry.emitted(jump), displacement), found }
    }

    /// The same edit with another end, `None` where the site is there.
    #[inline]
    fn leading_to(self, to: State) -> Option<Edit> {
        (self.from != to).then_some(Edit { to, ..self })
    }
}

/// Pages between two sites that cost less to open with them (65 ns each) than another pair of system calls would, with an
/// interrupt of the other processors each.
pub const SPAN_GAP_PAGES: usize = 16;

/// What a writer is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Sites to change.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Groups of sites with no more than [`SPAN_GAP_PAGES`] between neighbours.
    pub spans: usize,
    /// Sites that are pristine: leaving that state takes several steps, with a core sync between them.
    pub pristine: usize,
    /// A bit for each step that some site takes part in.
    pub steps: u8,
    /// Core sync was refused between two steps, and the steps were taken back: only a writer that needs none will do.
    pub unsynced: bool,
}

/// The list of edits, kept between transactions while it is small.
pub(crate) struct Edits(List<Edit>);

/// A list up to this size is kept.
const KEPT_BYTES: usize = 256 * 1024;

static EDITS: Guarded<Edits> = Guarded::new(Edits(List::new()));

impl Edits {
    /// The list, empty.
    ///
    /// # Safety
    /// One borrow at a time while the lock is held.
    #[allow(clippy::mut_from_ref)] // The lock stands for the right to the static.
    pub(super) unsafe fn borrow(lock: &Lock) -> &mut Edits {
        // SAFETY: by the contract.
        let edits = unsafe { Self::interrupted(lock) };
        edits.0.truncate(0);
        edits
    }

    /// The list as it was left.
    ///
    /// # Safety
    /// As [`borrow`](Self::borrow).
    #[allow(clippy::mut_from_ref)] // As above.
    pub(super) unsafe fn interrupted(_lock: &Lock) -> &mut Edits {
        // SAFETY: by the contract.
        unsafe { EDITS.get() }
    }

    /// The edits that carry out `requests`.
    pub(super) fn collect(&mut self, requests: &[Request<'_>], lock: &Lock) -> Result<(), Error> {
        for request in requests {
            let enabled = match request.transition {
                Transition::Done => continue,
                Transition::TurnOn => true,
                Transition::TurnOff => false,
            };
            let toward = |entry: &Entry, from: State| from.toward(entry.jumps(enabled));
            self.add(request.key, lock, toward, |entry| !entry.jumps(enabled))?;
        }
        Ok(())
    }

    /// The edits that bring the sites of `key` that fall through back to the pristine state.
    pub(super) fn collect_primed(&mut self, key: &RawKey, lock: &Lock) -> Result<(), Error> {
        self.add(key, lock, |entry, from| entry.emitted(!from.falls_through()), |_| false)?;
        Ok(())
    }

    /// The edits that bring the sites of `object` to the state of their keys. A site that cannot be brought there keeps no
    /// other from it; the next flip of its key says what is wrong.
    #[cfg(jumplabel_sites)]
    pub(super) fn collect_object(&mut self, object: &object::Object, lock: &Lock) -> Result<(), Error> {
        self.0.reserve(object.table().len(), lock.text())?;
        for (entry, key) in index::sound(object) {
            // SAFETY: the key of an entry that was looked at; its object was loaded before this one.
            let key = unsafe { &*(key as *const RawKey) };
            // SAFETY: an entry that was looked at, under the lock.
            if let Ok(Some(edit)) = unsafe { Edit::plan(entry, key.is_enabled()) } {
                self.0.push(edit, lock.text())?;
            }
        }
        Ok(())
    }

    /// The edits that bring each site of `key` to the state that `goal` says, from the one that it holds. Where it holds none,
    /// the error says that it should jump, or not, as `jumps` says. Both are the same for all entries of a kind.
    fn add(
        &mut self,
        key: &RawKey,
        lock: &Lock,
        goal: impl Fn(&Entry, State) -> State,
        jumps: impl Fn(&Entry) -> bool,
    ) -> Result<(), Error> {
        for object in object::all(lock) {
            let entries = index::entries(object, key.address(), lock)?;
            self.0.reserve(entries.len(), lock.text())?;
            // SAFETY: entries from the index, under the lock.
            if let Err(entry) = unsafe { self.add_entries(entries, &goal) } {
                // SAFETY: the same.
                return Err(unsafe { Edit::complaint(entry, jumps(entry)) });
            }
        }
        Ok(())
    }

    /// The part of [`add`](Self::add) that runs for each site: nothing here may cost more than the site itself, which other
    /// processors execute. Stops at an entry whose site holds none of its states.
    ///
    /// # Safety
    /// Entries from the index, under the lock.
    #[inline(never)]
    unsafe fn add_entries<'lock>(
        &mut self,
        entries: index::Entries<'lock>,
        goal: impl Fn(&Entry, State) -> State,
    ) -> Result<(), &'lock Entry> {
        let mut at = 0;
        // Most sites are of the kind and in the state of the one before.
        let mut last = None;
        let mut to = State::Pristine;
        self.0.extend(|| {
            while let Some(entry) = entries.get(at) {
                if let Some(later) = entries.get(at + arch::AHEAD) {
                    arch::prefetch_to_read(later.code());
                }
                at += 1;
                // SAFETY: by the contract.
                let edit = unsafe { Edit::read(entry) }.ok_or(entry)?;
                if last != Some((entry.kind(), edit.from)) {
                    if !edit.from.is_of(entry.is_naked()) {
                        return Err(entry);
                    }
                    last = Some((entry.kind(), edit.from));
                    to = goal(entry, edit.from);
                }
                if let Some(edit) = edit.leading_to(to) {
                    return Ok(Some(edit));
                }
            }
            Ok(None)
        })
    }

    /// Keeps the edits that `keep` says.
    pub(super) fn retain(&mut self, keep: impl Fn(&Edit) -> bool) {
        self.0.retain(|edit, _| keep(edit));
    }

    /// Gives all memory back.
    #[cfg(jumplabel_sites)]
    pub(super) fn free(&mut self, lock: &Lock) {
        self.0.free(lock.text());
    }

    /// Makes room for the edits of any key, if all objects have `sites` sites, as far as the list would be kept.
    pub(super) fn prepare(&mut self, sites: usize, lock: &Lock) -> Result<(), Error> {
        self.0.reserve(sites.min(KEPT_BYTES / size_of::<Edit>()), lock.text())
    }

    /// Gives memory back that is not worth keeping.
    pub(super) fn shrink(&mut self, lock: &Lock) {
        if self.0.bytes() > KEPT_BYTES {
            self.0.free(lock.text());
        }
    }

    /// What a writer needs to know of the edits, which are in the order of their addresses from then on, each once. `None` where
    /// there is nothing to do.
    #[inline(never)]
    pub(super) fn summary(&mut self, lock: &Lock) -> Option<Summary> {
        if self.is_empty() {
            return None;
        }
        let page_of = !(lock.text().page_size() - 1);
        let gap = SPAN_GAP_PAGES * lock.text().page_size();
        let mut summary = Summary { sites: self.len(), pages: 0, spans: 0, pristine: 0, steps: 0, unsynced: false };
        let (mut last, mut last_page, mut last_change) = (None, None, None);
        for edit in self.iter() {
            if Some(edit.address) <= last {
                self.sort();
                return self.summary(lock);
            }
            last = Some(edit.address);
            summary.pristine += usize::from(arch::STEPS > 1 && edit.from == State::Pristine);
            // Most sites are on the page of the one before, and change as it does.
            let page = edit.address & page_of;
            if last_page != Some(page) {
                summary.pages += 1;
                summary.spans += usize::from(last_page.is_none_or(|last| page > last + gap));
                last_page = Some(page);
            }
            let change = Some((edit.from, edit.to));
            if last_change != change {
                summary.steps |= steps_of(edit);
                last_change = change;
            }
        }
        Some(summary)
    }

    /// Sorts by address and removes what is listed twice. Those of one key in one object are sorted: the index is.
    #[cold]
    fn sort(&mut self) {
        sort_unstable_by(self.0.as_mut_slice(), |a, b| a.address < b.address);
        self.0.retain(|edit, kept| kept.last().is_none_or(|last| last.address != edit.address));
    }
}

impl Deref for Edits {
    type Target = [Edit];
    fn deref(&self) -> &[Edit] {
        &self.0
    }
}
