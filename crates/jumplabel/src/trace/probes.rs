//! The probes of a tracepoint: a list that never changes. To add or remove a probe, a new list replaces the old one. The old list is freed when no
//! thread can be in it.
//!
//! ```text
//!   Probes ──► ProbeList: probe, probe, ...        an emission loads this pointer once
//!   RETIRED ──► ProbeList ──► ProbeList            each knows which of the two counts of readers were 0 at some moment since it was retired
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::Signature;
use super::panics::{self, Dropped};
use super::readers::{self, BOTH, Inside};
use crate::call::RawCall;
use crate::error::Error;
use crate::key::RawKey;
use crate::patch::{self, Lock, Outcome, Request};
use crate::platform::notices::Notices;
use crate::raw::count::Change;

/// The bit of `Probes::count` that is set while there is a tracer.
const TRACED: usize = 1 << (usize::BITS - 1);

/// The head of a tracepoint's list: the pointer to the list, whose entries can have any type, and the number of probes.
#[repr(C)]
pub struct Probes {
    list: AtomicPtr<Header>,
    count: AtomicUsize,
}

/// The fields with which every list begins.
struct Header {
    next: *mut Header,
    seen: u8,
    /// The address of the only probe's function, if the static call may lead directly to it; otherwise 0.
    #[cfg_attr(not(jumplabel_usdt), allow(dead_code))]
    direct: usize,
    free: unsafe fn(*mut Header) -> Dropped,
}

#[repr(C)]
struct ProbeList<E> {
    header: Header,
    probes: Vec<E>,
}

/// A probe in a list. `function` is the probe's function; `None` if the probe has data.
pub(super) struct Entry<S: Signature> {
    pub(super) id: u64,
    pub(super) closure: Arc<S::Closure>,
    pub(super) function: Option<S::Function>,
}

impl<S: Signature> Clone for Entry<S> {
    fn clone(&self) -> Self {
        Entry { id: self.id, closure: Arc::clone(&self.closure), function: self.function }
    }
}

/// The key and the static call of a tracepoint. They change together with the list of probes.
#[derive(Clone, Copy)]
pub struct Led<'a> {
    /// The key.
    pub key: &'a RawKey,
    /// The static call.
    pub call: &'a RawCall,
    /// Where the call leads if not to a probe: the address of the walk, or 0 if the walk is the call's default.
    pub walk: usize,
}

/// A new list, as a boxed slice of one list; `None` if there is no probe. (The slice is made from a vector, because a vector can be allocated without
/// a panic if there is no memory.)
type New<E> = Option<Box<[ProbeList<E>]>>;

/// Frees a list, and drops each closure that is in no other list. Dropping the data of a closure may panic. The result is the first of these panics.
unsafe fn free<E>(list: *mut Header) -> Dropped {
    // SAFETY: no other code uses the list any more. It was made as a boxed slice with one list, and such a box has the layout of a box of a list.
    let list = unsafe { Box::from_raw(list.cast::<ProbeList<E>>()) };
    list.probes.into_iter().map(panics::dropped).fold(Ok(()), Result::and)
}

impl<E> ProbeList<E> {
    fn new(probes: Vec<E>, direct: usize) -> Result<New<E>, Error> {
        if probes.is_empty() {
            return Ok(None);
        }
        let mut list = with_room(1)?;
        list.push(ProbeList { header: Header { next: null_mut(), seen: 0, direct, free: free::<E> }, probes });
        Ok(Some(list.into_boxed_slice()))
    }

    /// The probes of a list; none if `list` is null. No reference to the whole list is made here, because a thread that retires the list writes to
    /// its header.
    ///
    /// # Safety
    /// The list is not freed while the result is used, and its entries are of type `E`.
    unsafe fn probes<'a>(list: *const ProbeList<E>) -> &'a [E] {
        // SAFETY: the pointer is not null, and the caller ensures that the list is not freed while the result is used.
        if list.is_null() { &[] } else { unsafe { &(*list).probes } }
    }
}

impl Probes {
    pub(super) const fn new() -> Probes {
        Probes { list: AtomicPtr::new(null_mut()), count: AtomicUsize::new(0) }
    }

    /// The number of probes. A tracer counts as one.
    pub(super) fn count(&self) -> usize {
        let count = self.count.load(Ordering::Relaxed);
        (count & !TRACED) + usize::from(count & TRACED != 0)
    }

    /// Whether the key and the call are set as a tracer needs them.
    pub(super) fn is_traced(&self) -> bool {
        self.count.load(Ordering::Relaxed) & TRACED != 0
    }

    /// Sets the key and the call to what the current list and `is_traced` require. Called under the lock.
    #[cfg(jumplabel_usdt)]
    pub(super) fn trace(&self, is_traced: bool, led: Led<'_>, lock: &mut Lock) -> Result<(), Error> {
        // SAFETY: the pointer is null, or leads to a list. This list is not freed now: only a change retires it, and a change needs the lock.
        let direct = unsafe { self.list.load(Ordering::Relaxed).as_ref() }.map(|list| list.direct);
        lead(direct, is_traced, led, lock)?;
        self.mark_traced(is_traced);
        Ok(())
    }

    /// Notes whether a tracer is attached. Called under the lock.
    #[cfg(jumplabel_usdt)]
    pub(super) fn mark_traced(&self, is_traced: bool) {
        let count = self.count.load(Ordering::Relaxed) & !TRACED;
        self.count.store(count | if is_traced { TRACED } else { 0 }, Ordering::Relaxed);
    }

    /// The current list; null if there are no probes.
    ///
    /// # Safety
    /// The tracepoint's entries are of type `E`.
    unsafe fn list<E>(&self) -> *mut ProbeList<E> {
        self.list.load(Ordering::SeqCst).cast()
    }

    /// The current probes. No probe is freed while this thread is counted as a reader ([`readers`]).
    ///
    /// # Safety
    /// The tracepoint's entries are of type `E`. This thread is counted as a reader as long as the result is used.
    pub(super) unsafe fn get<'a, E>(&self) -> &'a [E] {
        // SAFETY: the caller ensures that the entries are of type `E`, and that this thread is counted. The list is freed only after the thread has
        // counted itself off.
        unsafe { ProbeList::probes(self.list()) }
    }

    /// Replaces the list by an edited copy. Before that, sets the key and the call to what the new list requires. `edit` gets a copy of the list with
    /// room for one more probe. `direct` returns the number for [`Header::direct`].
    ///
    /// # Safety
    /// The tracepoint's entries are of type `E`.
    pub(super) unsafe fn change<E: Clone, X: From<Error>>(
        &self,
        edit: &dyn Fn(&mut Vec<E>) -> Result<(), X>,
        direct: &dyn Fn(&[E]) -> usize,
        led: Led<'_>,
    ) -> Result<Outcome, X> {
        readers::make()?;
        loop {
            // This thread stays counted until the copy has become the list, or is dropped. The reason: the copy may become the last list that holds a
            // closure, and `synchronize_probes` must wait until this closure is dropped.
            let inside = readers::enter();
            // SAFETY: the caller ensures that the entries are of type `E`. This thread is counted, so the list is not freed, and no new list gets its
            // address.
            let old = unsafe { self.list::<E>() };
            // SAFETY: this thread is counted, so the list is not freed. The caller ensures that its entries are of type `E`.
            let probes = unsafe { ProbeList::probes(old) };
            let mut copy = with_room(probes.len() + 1)?;
            copy.extend_from_slice(probes);
            edit(&mut copy)?;
            // The lock is taken only after the next lines, because an error in them drops the copy, and closures must not be dropped under the lock.
            let direct = direct(&copy);
            let new = ProbeList::new(copy, direct)?;
            let mut lock = patch::locked(&[Request::new(led.key, 0), Request::new(led.call, 0)])?;
            // SAFETY: the caller ensures that the entries are of type `E`. Besides, only the address of the list is used.
            if unsafe { self.list() } != old {
                continue;
            }
            let outcome = lead(new.as_ref().map(|_| direct), self.is_traced(), led, &mut lock)?;
            self.replace(new, &lock);
            drop(inside);
            let unused = unused(readers::empty(), &lock);
            // A function of `on_change` may wait for probes. So unused lists are freed before such functions are called.
            let notices = SendAtEnd(lock.take_notices());
            drop(lock);
            drop(unused);
            drop(notices);
            return Ok(outcome);
        }
    }

    /// Makes `new` the current list, and retires the list before it. Called under the lock.
    fn replace<E>(&self, new: New<E>, _: &Lock) {
        let traced = self.count.load(Ordering::Relaxed) & TRACED;
        self.count.store(new.as_ref().map_or(0, |list| list[0].probes.len()) | traced, Ordering::Relaxed);
        let old = self.list.swap(new.map_or(null_mut(), |list| Box::into_raw(list).cast()), Ordering::SeqCst);
        if !old.is_null() {
            // SAFETY: `old` is a list that is not freed yet. Only the thread that holds the lock uses its header; readers use only its probes.
            unsafe { (*old).next = RETIRED.load(Ordering::Relaxed) };
            RETIRED.store(old, Ordering::Relaxed);
        }
    }
}

/// Turns the key on if there is a probe or a tracer, and off otherwise. Leads the call directly to the only probe if `direct` allows that and there
/// is no tracer; otherwise to the walk. `direct` is the number in the header of the list; `None` if there is no list.
fn lead(direct: Option<usize>, is_traced: bool, led: Led<'_>, lock: &mut Lock) -> Result<Outcome, Error> {
    let target = direct.filter(|&direct| direct != 0 && !is_traced).unwrap_or(led.walk);
    let key = Request::of_key(led.key, Change::to(direct.is_some() || is_traced));
    patch::commit_locked(&[key, led.call.request(target)?], lock)
}

/// Notices that are sent when this value is dropped: also if dropping a closure has panicked before.
struct SendAtEnd(Notices);

impl Drop for SendAtEnd {
    fn drop(&mut self) {
        self.0.send();
    }
}

fn with_room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| Error::OutOfMemory)?;
    Ok(room)
}

/// The retired lists that are not freed yet. Used only under the lock.
static RETIRED: AtomicPtr<Header> = AtomicPtr::new(null_mut());

/// Retired lists that no thread is in. Dropping this value frees them, and drops closures. So do not drop it under the lock.
pub(super) struct Unused {
    first: *mut Header,
    /// Counts this thread as one that frees lists, so that other threads can wait for it.
    _freeing: Option<Inside>,
}

/// Takes the lists that no thread can be in off `RETIRED`. `empty` says which of the two counts of readers are 0 now. Called under the lock.
pub(super) fn unused(empty: u8, _: &Lock) -> Unused {
    let mut at = RETIRED.load(Ordering::Relaxed);
    let (mut kept, mut unused) = (null_mut(), null_mut());
    while !at.is_null() {
        // SAFETY: `at` is a retired list that is not freed yet. Only the thread that holds the lock uses its header; readers use only its probes.
        unsafe {
            (*at).seen |= empty;
            let chain = if (*at).seen == BOTH { &mut unused } else { &mut kept };
            let next = core::mem::replace(&mut (*at).next, *chain);
            *chain = core::mem::replace(&mut at, next);
        }
    }
    RETIRED.store(kept, Ordering::Relaxed);
    Unused { first: unused, _freeing: if unused.is_null() { None } else { readers::free() } }
}

impl Drop for Unused {
    /// Frees the lists. If dropping a closure panics, all other lists are freed before the panic continues.
    fn drop(&mut self) {
        let mut freed = Ok(());
        while !self.first.is_null() {
            let list = self.first;
            // SAFETY: `list` is a retired list that no thread is in, and only this chain leads to it.
            freed = unsafe {
                self.first = (*list).next;
                freed.and(((*list).free)(list))
            };
        }
        panics::go_on(freed);
    }
}

#[cfg(test)]
mod tests;
