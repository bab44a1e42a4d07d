//! What a transaction will write: requests to edits. Nothing is written here.

use core::cell::UnsafeCell;
use core::ops::Deref;
use core::ptr::NonNull;

use super::Lock;
use crate::arch::{self, State};
use crate::error::Error;
use crate::key::RawKey;
use crate::key::count::{self, Change, Transition};
use crate::site::{Entry, index, object, read_site};

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

    /// The sites are patched.
    pub(super) fn publish(&self) {
        count::publish(self.key.word(), self.transition);
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
    requests.sort_unstable_by_key(|request| (request.key.address(), request.order));
    let mut kept: usize = 0;
    for at in 0..requests.len() {
        if kept > 0 && core::ptr::eq(requests[kept - 1].key, requests[at].key) {
            kept -= 1;
        }
        requests[kept] = requests[at];
        kept += 1;
    }
    &mut requests[..kept]
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
    unsafe fn plan(entry: &Entry, enabled: bool) -> Result<Option<Edit>, Error> {
        let (address, displacement, jump) = (entry.code(), entry.displacement()?, entry.jumps(enabled));
        // SAFETY: by the contract.
        let from = unsafe { verify(address, displacement, !jump) }?;
        let to = from.toward(jump);
        Ok((from != to).then_some(Edit { address, displacement, from, to }))
    }
}

/// The state of a site, or the error that says what was found instead of the state that its key calls for.
///
/// # Safety
/// As for [`read_site`].
unsafe fn verify(address: usize, displacement: i32, jump: bool) -> Result<State, Error> {
    // SAFETY: by the contract.
    let found = unsafe { read_site(address) };
    arch::decode(found, displacement).ok_or_else(|| {
        let state = if jump { State::Jump } else { State::Pristine };
        Error::ForeignBytes { address, expected: arch::encode(state, displacement), found }
    })
}

/// What a writer is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Sites to change.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Sites whose change takes more than one step: it needs core sync between the steps.
    pub pristine: usize,
}

/// The list of edits: memory from [`Text::allocate`](crate::text::Text::allocate), kept between transactions while it
/// is small.
pub(crate) struct Edits {
    memory: Option<NonNull<Edit>>,
    capacity: usize,
    len: usize,
}

/// A list up to this size is kept.
const KEPT_BYTES: usize = 256 * 1024;

struct Guarded(UnsafeCell<Edits>);
// SAFETY: only `borrow` reaches the cell, and its contract is that the lock is held.
unsafe impl Sync for Guarded {}

static EDITS: Guarded = Guarded(UnsafeCell::new(Edits { memory: None, capacity: 0, len: 0 }));

impl Edits {
    /// The list, empty.
    ///
    /// # Safety
    /// One borrow at a time while the lock is held.
    #[allow(clippy::mut_from_ref)] // Not from the reference: the lock stands for the right to the static.
    pub(super) unsafe fn borrow(_lock: &Lock) -> &mut Edits {
        // SAFETY: by the contract.
        let edits = unsafe { &mut *EDITS.0.get() };
        edits.len = 0;
        edits
    }

    /// The list as it was left.
    ///
    /// # Safety
    /// As [`borrow`](Self::borrow).
    #[allow(clippy::mut_from_ref)] // As above.
    pub(super) unsafe fn interrupted(_lock: &Lock) -> &Edits {
        // SAFETY: by the contract.
        unsafe { &*EDITS.0.get() }
    }

    /// The edits that carry out `requests`.
    pub(super) fn collect(&mut self, requests: &[Request<'_>], lock: &Lock) -> Result<(), Error> {
        for request in requests {
            let enabled = match request.transition {
                Transition::Done => continue,
                Transition::TurnOn => true,
                Transition::TurnOff => false,
            };
            // SAFETY: entries from the index, under the lock.
            self.add(request.key, lock, |entry| unsafe { Edit::plan(entry, enabled) })?;
        }
        self.arrange();
        Ok(())
    }

    /// The edits that bring the sites of `key` that fall through back to the pristine state.
    pub(super) fn collect_primed(&mut self, key: &RawKey, lock: &Lock) -> Result<(), Error> {
        self.add(key, lock, |entry| {
            let (address, displacement) = (entry.code(), entry.displacement()?);
            // SAFETY: entries from the index, under the lock.
            let from = unsafe { verify(address, displacement, false) }?;
            let to = State::Pristine;
            Ok((from.falls_through() && from != to).then_some(Edit { address, displacement, from, to }))
        })?;
        self.arrange();
        Ok(())
    }

    /// The edits that bring all sites of `object` to the state of their keys.
    #[cfg(jumplabel_sites)]
    pub(super) fn collect_object(&mut self, object: &object::Object, lock: &Lock) -> Result<(), Error> {
        index::check(object)?;
        self.reserve(object.table().len(), lock)?;
        for entry in object.table() {
            // SAFETY: the key of a checked entry; its object was loaded before this one.
            let enabled = unsafe { &*(entry.key() as *const RawKey) }.is_enabled();
            // SAFETY: a checked entry, under the lock.
            if let Some(edit) = unsafe { Edit::plan(entry, enabled) }? {
                self.push(edit);
            }
        }
        self.arrange();
        Ok(())
    }

    fn add(
        &mut self,
        key: &RawKey,
        lock: &Lock,
        plan: impl Fn(&Entry) -> Result<Option<Edit>, Error>,
    ) -> Result<(), Error> {
        for object in object::all(lock) {
            let entries = index::entries(object, key.address(), lock)?;
            self.reserve(entries.len(), lock)?;
            for entry in entries {
                if let Some(edit) = plan(entry)? {
                    self.push(edit);
                }
            }
        }
        Ok(())
    }

    /// Adds an edit that there is room for.
    fn push(&mut self, edit: Edit) {
        debug_assert!(self.len < self.capacity);
        if let Some(memory) = self.memory {
            // SAFETY: the caller has reserved room.
            unsafe { memory.add(self.len).write(edit) };
            self.len += 1;
        }
    }

    /// Sorts by address and removes what is listed twice. The index is sorted already, so this is one pass for one key.
    fn arrange(&mut self) {
        let len = self.len;
        let Some(memory) = self.memory else { return };
        // SAFETY: `len` edits were written.
        let edits = unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), len) };
        if !edits.is_sorted_by(|a, b| a.address < b.address) {
            edits.sort_unstable_by_key(|edit| edit.address);
            self.len = dedup(edits);
        }
    }

    /// Room for `more` edits.
    fn reserve(&mut self, more: usize, lock: &Lock) -> Result<(), Error> {
        let needed = self.len + more;
        if needed <= self.capacity {
            return Ok(());
        }
        let bytes = (needed.max(self.capacity * 2) * size_of::<Edit>()).max(4096);
        let memory = lock.text().allocate(bytes).ok_or(Error::OutOfMemory)?.cast::<Edit>();
        if let Some(old) = self.memory {
            // SAFETY: both hold at least `len` edits, and do not overlap.
            unsafe { memory.copy_from_nonoverlapping(old, self.len) };
        }
        self.free(lock);
        (self.memory, self.capacity) = (Some(memory), bytes / size_of::<Edit>());
        Ok(())
    }

    /// Gives memory back that is not worth keeping.
    pub(super) fn shrink(&mut self, lock: &Lock) {
        if self.capacity * size_of::<Edit>() > KEPT_BYTES {
            self.free(lock);
        }
    }

    fn free(&mut self, lock: &Lock) {
        if let Some(memory) = self.memory.take() {
            // SAFETY: from `allocate`; `release` rounds as `allocate` did.
            unsafe { lock.text().release(memory.cast(), self.capacity * size_of::<Edit>()) };
        }
        self.capacity = 0;
    }

    /// `None` where there is nothing to do.
    pub(super) fn summary(&self, lock: &Lock) -> Option<Summary> {
        if self.is_empty() {
            return None;
        }
        let page = lock.text().page_size();
        let mut summary = Summary { sites: self.len, pages: 0, pristine: 0 };
        let mut last = usize::MAX;
        for edit in self.iter() {
            summary.pristine += usize::from(arch::step(1, edit.from, edit.to, edit.displacement).is_some());
            summary.pages += usize::from(edit.address / page != last);
            last = edit.address / page;
        }
        Some(summary)
    }
}

impl Deref for Edits {
    type Target = [Edit];
    fn deref(&self) -> &[Edit] {
        match self.memory {
            // SAFETY: `len` edits were written.
            Some(memory) => unsafe { core::slice::from_raw_parts(memory.as_ptr(), self.len) },
            None => &[],
        }
    }
}

/// Moves the distinct addresses of a sorted list to its front; how many there are.
fn dedup(edits: &mut [Edit]) -> usize {
    let mut kept = 0;
    for at in 0..edits.len() {
        if kept == 0 || edits[kept - 1].address != edits[at].address {
            edits[kept] = edits[at];
            kept += 1;
        }
    }
    kept
}
