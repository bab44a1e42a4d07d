//! The probes of a tracepoint: a list that never changes. A change puts a new list in the place of the old one, which is freed when no thread can
//! be in it.
//!
//! ```text
//!   Probes ──► ProbeList: probe, probe, ...        an emission loads this pointer once
//!   RETIRED ──► ProbeList ──► ProbeList            each notes which of the readers' counts were 0 since it was retired
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

/// The head of a tracepoint's list: a pointer to the list, without the type of the list's entries, and the number of probes.
#[repr(C)]
pub struct Probes {
    list: AtomicPtr<Header>,
    count: AtomicUsize,
}

/// The fields with which every list begins.
struct Header {
    next: *mut Header,
    seen: u8,
    /// The address of the only probe's function, if the static call may lead to that function; otherwise 0.
    #[cfg_attr(not(jumplabel_usdt), allow(dead_code))]
    direct: usize,
    free: unsafe fn(*mut Header) -> Dropped,
}

#[repr(C)]
struct ProbeList<E> {
    header: Header,
    probes: Vec<E>,
}

/// A probe in a list. `function` is the probe's function if the probe has no data.
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

/// The key and the static call of a tracepoint, which a change of its probes changes, too.
#[derive(Clone, Copy)]
pub struct Led<'a> {
    /// The key.
    pub key: &'a RawKey,
    /// The static call.
    pub call: &'a RawCall,
    /// The target of the call while it does not lead to a probe: the address of the walk, or 0 for the call's default.
    pub walk: usize,
}

/// A box with exactly one list. `None` if the list is empty.
type New<E> = Option<Box<[ProbeList<E>]>>;

/// Drops a list, and each closure that is in no other list. The drop of a closure's data may panic; the result is the first panic.
unsafe fn free<E>(list: *mut Header) -> Dropped {
    // SAFETY: the caller passes a list that was made with this function, and that no other code has. The list is the only one in its box.
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

    /// The probes of a list; none if `list` is null. This makes no reference to the whole list, because a thread that retires the list writes to
    /// its header.
    ///
    /// # Safety
    /// The list is not freed while the result is used.
    unsafe fn probes<'a>(list: *const ProbeList<E>) -> &'a [E] {
        // SAFETY: the caller keeps the list as long as it uses the result.
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

    /// Whether the key and the call are set for a tracer.
    pub(super) fn is_traced(&self) -> bool {
        self.count.load(Ordering::Relaxed) & TRACED != 0
    }

    /// Sets the key and the call to what the current list and `is_traced` ask for. Called under the lock.
    #[cfg(jumplabel_usdt)]
    pub(super) fn trace(&self, is_traced: bool, led: Led<'_>, lock: &mut Lock) -> Result<(), Error> {
        // SAFETY: the pointer leads to a list, or is null. The list stays, because only a change replaces it, and a change needs the lock.
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

    /// The current list: null if there is none.
    ///
    /// # Safety
    /// The tracepoint's entries are of type `E`.
    unsafe fn list<E>(&self) -> *mut ProbeList<E> {
        self.list.load(Ordering::SeqCst).cast()
    }

    /// The current probes.
    ///
    /// # Safety
    /// The tracepoint's entries are of type `E`. This thread is counted as long as the result is used.
    pub(super) unsafe fn get<'a, E>(&self) -> &'a [E] {
        // SAFETY: the caller says that the list has such entries, and that this thread is counted. The list is freed only after the thread
        // has counted itself off.
        unsafe { ProbeList::probes(self.list()) }
    }

    /// Replaces the list by an edited copy. Before that, sets the key and the call to what the new probes ask for. `edit` gets a copy with room for
    /// one more probe. `direct` returns the address of the only probe's function, or 0, as in the header of a list.
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
            // This thread stays counted until the copy has become the list, or is dropped. The copy may be the last list that holds a
            // closure, and then other threads wait until the closure is dropped.
            let inside = readers::enter();
            // SAFETY: the caller says that the list has such entries. This thread is counted, so the list stays, and no other list gets its
            // address.
            let old = unsafe { self.list::<E>() };
            // SAFETY: the list stays, because this thread is counted.
            let probes = unsafe { ProbeList::probes(old) };
            let mut copy = with_room(probes.len() + 1)?;
            copy.extend_from_slice(probes);
            edit(&mut copy)?;
            // The lock is taken after this line, because an error here drops the copy, and closures must not be dropped under the lock.
            let direct = direct(&copy);
            let new = ProbeList::new(copy, direct)?;
            let mut lock = patch::locked(&[Request::new(led.key, 0), Request::new(led.call, 0)])?;
            // SAFETY: the caller says that the list has such entries. Only the address of the list is used.
            if unsafe { self.list() } != old {
                continue;
            }
            let outcome = lead(new.as_ref().map(|_| direct), self.is_traced(), led, &mut lock)?;
            self.replace(new, &lock);
            drop(inside);
            let unused = unused(readers::empty(), &lock);
            // A function of `on_change` may wait for probes. So the lists that no thread is in are dropped before such a function is called.
            let notices = SendAtEnd(lock.take_notices());
            drop(lock);
            drop(unused);
            drop(notices);
            return Ok(outcome);
        }
    }

    /// Puts `new` in the place of the current list, and retires the current list. Called under the lock.
    fn replace<E>(&self, new: New<E>, _: &Lock) {
        let traced = self.count.load(Ordering::Relaxed) & TRACED;
        self.count.store(new.as_ref().map_or(0, |list| list[0].probes.len()) | traced, Ordering::Relaxed);
        let old = self.list.swap(new.map_or(null_mut(), |list| Box::into_raw(list).cast()), Ordering::SeqCst);
        if !old.is_null() {
            // SAFETY: `old` is a list. The lock keeps other threads from its header; readers look only at its probes.
            unsafe { (*old).next = RETIRED.load(Ordering::Relaxed) };
            RETIRED.store(old, Ordering::Relaxed);
        }
    }
}

/// Turns the key on if there are probes or a tracer. Leads the call to the only probe's function, if it may lead there and there is no tracer, and
/// otherwise to the walk. `direct` is the number in the header of the list; `None` if there is no list.
fn lead(direct: Option<usize>, is_traced: bool, led: Led<'_>, lock: &mut Lock) -> Result<Outcome, Error> {
    let target = direct.filter(|&direct| direct != 0 && !is_traced).unwrap_or(led.walk);
    let key = Request::of_key(led.key, Change::to(direct.is_some() || is_traced));
    patch::commit_locked(&[key, led.call.request(target)?], lock)
}

/// Notices that are sent when this is dropped, even if the drop of a closure panics before that.
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

/// The lists that were replaced and are not freed yet. Used under the lock.
static RETIRED: AtomicPtr<Header> = AtomicPtr::new(null_mut());

/// Lists that no thread is in. They are freed when this is dropped. Do not drop this under the lock, because closures are dropped with the
/// lists.
pub(super) struct Unused {
    first: *mut Header,
    /// Counts this thread as one that frees lists, so that other threads can wait for it.
    _freeing: Option<Inside>,
}

/// Takes the lists that no thread is in from the retired lists. `empty` says which of the readers' counts are 0 now. Called under the lock.
pub(super) fn unused(empty: u8, _: &Lock) -> Unused {
    let mut at = RETIRED.load(Ordering::Relaxed);
    let (mut kept, mut unused) = (null_mut(), null_mut());
    while !at.is_null() {
        // SAFETY: this is a retired list. The lock keeps other threads from its header; readers look only at its probes.
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
    /// If the drop of one list panics, all other lists are dropped before the panic continues.
    fn drop(&mut self) {
        let mut freed = Ok(());
        while !self.first.is_null() {
            let list = self.first;
            // SAFETY: this is a retired list that no thread is in, and that is only in this chain.
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
