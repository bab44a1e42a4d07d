//! The probes of a tracepoint: a list that never changes. A new list takes its place, and it is freed when no thread
//! can be in it any more.
//!
//! ```text
//!   Probes ──► ProbeList: probe, probe, ...        who emits loads this once
//!   RETIRED ──► ProbeList ──► ProbeList            each has seen which of the readers' words were 0 since it was retired
//! ```

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::vec::Vec;

use super::Signature;
use super::readers::{self, BOTH, Inside};
use crate::error::Error;
use crate::patch::{self, Lock, Outcome, Request};

/// The list of a tracepoint, without its type.
#[repr(C)]
pub struct Probes {
    list: AtomicPtr<Header>,
    count: AtomicUsize,
}

/// What every list begins with.
struct Header {
    next: *mut Header,
    seen: u8,
    free: unsafe fn(*mut Header) -> std::thread::Result<()>,
}

#[repr(C)]
struct ProbeList<E> {
    header: Header,
    probes: Vec<E>,
}

/// A probe. The function is there if it has no data.
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

/// Has a key and a call do what these probes need.
type Lead<'a, E> = &'a dyn Fn(&[E], &mut Lock) -> Result<Outcome, Error>;

/// The only list of its slice. `None` if it is empty.
type New<E> = Option<Box<[ProbeList<E>]>>;

impl<E> ProbeList<E> {
    fn new(probes: Vec<E>) -> Result<New<E>, Error> {
        /// Drops a list, and with it each closure that is in no other. What a closure holds may panic then; the first panic.
        unsafe fn free<E>(list: *mut Header) -> std::thread::Result<()> {
            // SAFETY: the caller passes a list that was made with this function, and that nobody else has.
            // It is the only one of its slice.
            let list = unsafe { Box::from_raw(list.cast::<ProbeList<E>>()) };
            let dropped = list.probes.into_iter().map(|probe| catch_unwind(AssertUnwindSafe(|| drop(probe))));
            dropped.fold(Ok(()), Result::and)
        }
        if probes.is_empty() {
            return Ok(None);
        }
        let mut list = with_room(1)?;
        list.push(ProbeList { header: Header { next: null_mut(), seen: 0, free: free::<E> }, probes });
        Ok(Some(list.into_boxed_slice()))
    }

    /// The probes of a list; none if it is null. No reference to all of the list: whoever retires it writes to its header.
    ///
    /// # Safety
    /// It stays as long as what is returned is used.
    unsafe fn probes<'a>(list: *const ProbeList<E>) -> &'a [E] {
        // SAFETY: the caller keeps the list as long as it uses the result.
        if list.is_null() { &[] } else { unsafe { &(*list).probes } }
    }
}

impl Probes {
    pub(super) const fn new() -> Probes {
        Probes { list: AtomicPtr::new(null_mut()), count: AtomicUsize::new(0) }
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The list now: null if there is none.
    ///
    /// # Safety
    /// It is a tracepoint's with such entries.
    unsafe fn list<E>(&self) -> *mut ProbeList<E> {
        self.list.load(Ordering::SeqCst).cast()
    }

    /// The probes now.
    ///
    /// # Safety
    /// It is a tracepoint's with such entries, and this thread is counted as long as what is returned is used.
    pub(super) unsafe fn get<'a, E>(&self) -> &'a [E] {
        // SAFETY: the caller says that the list has such entries, and that this thread is counted.
        // The list is freed after the thread has counted itself off.
        unsafe { ProbeList::probes(self.list()) }
    }

    /// Replaces the list by an edited copy, after `lead` has changed the key and the call, `led`, for its probes. `edit` gets a copy with room
    /// for one more.
    ///
    /// # Safety
    /// It is a tracepoint's with such entries.
    pub(super) unsafe fn change<E: Clone, X: From<Error>>(
        &self,
        edit: &dyn Fn(&mut Vec<E>) -> Result<(), X>,
        led: &[Request<'_>],
        lead: Lead<'_, E>,
    ) -> Result<Outcome, X> {
        readers::make()?;
        loop {
            // Until the copy is a list or is dropped, because it may be the last that holds a closure. Others wait for that.
            let inside = readers::enter();
            // SAFETY: the caller says that the list has such entries.
            // This thread is counted, so the list stays, and no other list gets its address.
            let old = unsafe { self.list::<E>() };
            // SAFETY: the same list; it stays, because this thread is counted.
            let probes = unsafe { ProbeList::probes(old) };
            let mut copy = with_room(probes.len() + 1)?;
            copy.extend_from_slice(probes);
            edit(&mut copy)?;
            // Not dropped under the lock: that is taken later.
            let new = ProbeList::new(copy)?;
            let mut lock = patch::locked(led)?;
            // SAFETY: the caller says that the list has such entries. Only its address is looked at.
            if unsafe { self.list() } != old {
                continue;
            }
            let outcome = lead(new.as_ref().map_or(&[], |list| &list[0].probes), &mut lock)?;
            self.replace(new, &lock);
            drop(inside);
            let unused = unused(readers::empty(), &lock);
            drop(lock);
            drop(unused);
            return Ok(outcome);
        }
    }

    /// Under the lock: puts `new` in the place of the list, which is retired.
    fn replace<E>(&self, new: New<E>, _: &Lock) {
        self.count.store(new.as_ref().map_or(0, |list| list[0].probes.len()), Ordering::Relaxed);
        let old = self.list.swap(new.map_or(null_mut(), |list| Box::into_raw(list).cast()), Ordering::SeqCst);
        if !old.is_null() {
            // SAFETY: a list. Because of the lock nobody else looks at its header; readers look at its probes.
            unsafe { (*old).next = RETIRED.load(Ordering::Relaxed) };
            RETIRED.store(old, Ordering::Relaxed);
        }
    }
}

fn with_room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| Error::OutOfMemory)?;
    Ok(room)
}

/// Under the lock: lists that were taken away, and not freed yet.
static RETIRED: AtomicPtr<Header> = AtomicPtr::new(null_mut());

/// Lists that nobody is in. They are freed when this is dropped: not under the lock, because closures are dropped with them.
pub(super) struct Unused {
    first: *mut Header,
    /// So that others can wait for that.
    _freeing: Option<Inside>,
}

/// Under the lock: the retired lists that nobody is in any more. What the readers' words were is `empty`.
pub(super) fn unused(empty: u8, _: &Lock) -> Unused {
    let mut at = RETIRED.load(Ordering::Relaxed);
    let (mut kept, mut unused) = (null_mut(), null_mut());
    while !at.is_null() {
        // SAFETY: a list that was retired. Because of the lock nobody else looks at its header; readers look at its probes.
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
    /// If something panics, all others are dropped before that goes on.
    fn drop(&mut self) {
        let mut freed = Ok(());
        while !self.first.is_null() {
            let list = self.first;
            // SAFETY: a list that was retired, that nobody is in, and that is in no chain but this.
            freed = unsafe {
                self.first = (*list).next;
                freed.and(((*list).free)(list))
            };
        }
        if let (Err(panic), false) = (freed, std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use super::readers::FREES_AT_ONCE;

    crate::tracepoint! { test, point(); }

    /// Whether data are dropped while a thread is in their probe.
    fn drops_too_early() -> bool {
        static DROPS: AtomicUsize = AtomicUsize::new(0);
        struct Data;
        impl Drop for Data {
            fn drop(&mut self) {
                DROPS.fetch_add(1, Ordering::SeqCst);
            }
        }
        let before = DROPS.load(Ordering::SeqCst);
        let (data, (entered, enters)) = (Data, channel());
        let entered = std::sync::Mutex::new(entered);
        // The twin drops the closure while it runs: what it uses after it has said that it is there is not in it.
        static GO: AtomicBool = AtomicBool::new(false);
        GO.store(false, Ordering::SeqCst);
        let closure = move || {
            let _whole = &data;
            entered.lock().unwrap().send(()).unwrap();
            while !GO.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        };
        let probe = point.add_closure(Arc::new(closure)).unwrap();
        let emitter = std::thread::spawn(|| crate::emit!(point));
        enters.recv().unwrap();
        probe.remove().unwrap();
        // Later changes, each of which frees what it can.
        (0..4).for_each(|_| drop(point.add_closure(Arc::new(|| ())).unwrap()));
        let early = DROPS.load(Ordering::SeqCst) != before;
        GO.store(true, Ordering::SeqCst);
        emitter.join().unwrap();
        crate::synchronize_probes().unwrap();
        assert_eq!(DROPS.load(Ordering::SeqCst), before + 1);
        early
    }

    /// A copy may be made in vain and be the last that holds a closure: `synchronize_probes` waits for whoever drops it.
    #[test]
    fn what_drops_a_copy_is_counted() {
        crate::tracepoint! { test, changed(); }
        static SAID: std::sync::Mutex<std::vec::Vec<Result<(), crate::Error>>> =
            std::sync::Mutex::new(std::vec::Vec::new());
        struct Data;
        impl Drop for Data {
            fn drop(&mut self) {
                SAID.lock().unwrap().push(crate::synchronize_probes());
            }
        }
        let data = std::cell::RefCell::new(Some(Data));
        let edit = |probes: &mut std::vec::Vec<super::Entry<changed>>| {
            let Some(data) = data.take() else { return };
            probes.push(super::Entry { id: u64::MAX, closure: Arc::new(move || _ = &data), function: None });
            std::mem::forget(changed.add(|| ()).unwrap());
        };
        changed.change(&edit).unwrap();
        assert_eq!((&SAID.lock().unwrap()[..], changed.probes()), (&[Err(crate::Error::Reentrant)][..], 1));
    }

    /// The twin that frees at once is found out.
    #[test]
    #[cfg_attr(miri, ignore = "it finds the twin by itself")]
    fn data_stay_while_a_thread_is_in_them() {
        assert!(!drops_too_early());
        FREES_AT_ONCE.store(true, Ordering::SeqCst);
        assert!(drops_too_early());
        FREES_AT_ONCE.store(false, Ordering::SeqCst);
    }
}
