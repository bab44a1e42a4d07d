//! The probes of a tracepoint: a list that never changes. A change puts a new list in its place. The old list is freed when no thread can
//! be in it any more.
//!
//! ```text
//!   Probes ──► ProbeList: probe, probe, ...        an emission loads this pointer once
//!   RETIRED ──► ProbeList ──► ProbeList            each notes which of the readers' counts were 0 since it was retired
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

/// The pointer to the list of a tracepoint, without the type of the list's entries.
#[repr(C)]
pub struct Probes {
    list: AtomicPtr<Header>,
    count: AtomicUsize,
}

/// The fields that every list begins with.
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

/// A probe. If the probe has no data, `function` is its function.
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

/// Sets the key and the call of a tracepoint as these probes need them.
type Lead<'a, E> = &'a dyn Fn(&[E], &mut Lock) -> Result<Outcome, Error>;

/// A box with exactly one list. `None` if the list is empty.
type New<E> = Option<Box<[ProbeList<E>]>>;

impl<E> ProbeList<E> {
    fn new(probes: Vec<E>) -> Result<New<E>, Error> {
        /// Drops a list, and with it each closure that is in no other list. The drop of a closure's data may panic; this returns the first
        /// panic.
        unsafe fn free<E>(list: *mut Header) -> std::thread::Result<()> {
            // SAFETY: the caller passes a list that was made with this function, and that nobody else has. The list is the only one in its
            // box.
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

    /// The probes of a list; none if the list is null. This makes no reference to the whole list, because a thread that retires the list
    /// writes to its header.
    ///
    /// # Safety
    /// The list stays as long as the result is used.
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

    /// The current list: null if there is none.
    ///
    /// # Safety
    /// This belongs to a tracepoint with entries of type `E`.
    unsafe fn list<E>(&self) -> *mut ProbeList<E> {
        self.list.load(Ordering::SeqCst).cast()
    }

    /// The current probes.
    ///
    /// # Safety
    /// This belongs to a tracepoint with entries of type `E`. This thread is counted as long as the result is used.
    pub(super) unsafe fn get<'a, E>(&self) -> &'a [E] {
        // SAFETY: the caller says that the list has such entries, and that this thread is counted. The list is freed only after the thread
        // has counted itself off.
        unsafe { ProbeList::probes(self.list()) }
    }

    /// Replaces the list by an edited copy. Before that, `lead` changes the key and the call for the new probes; `led` names this key and
    /// this call. `edit` gets a copy with room for one more probe.
    ///
    /// # Safety
    /// This belongs to a tracepoint with entries of type `E`.
    pub(super) unsafe fn change<E: Clone, X: From<Error>>(
        &self,
        edit: &dyn Fn(&mut Vec<E>) -> Result<(), X>,
        led: &[Request<'_>],
        lead: Lead<'_, E>,
    ) -> Result<Outcome, X> {
        readers::make()?;
        loop {
            // This thread stays counted until the copy has become the list, or is dropped. The copy may be the last list that holds a
            // closure, and then other threads wait until the closure is dropped.
            let inside = readers::enter();
            // SAFETY: the caller says that the list has such entries. This thread is counted, so the list stays, and no other list gets its
            // address.
            let old = unsafe { self.list::<E>() };
            // SAFETY: the same list, which stays because this thread is counted.
            let probes = unsafe { ProbeList::probes(old) };
            let mut copy = with_room(probes.len() + 1)?;
            copy.extend_from_slice(probes);
            edit(&mut copy)?;
            // The lock is taken after this line, because an error here drops the copy, and closures must not be dropped under the lock.
            let new = ProbeList::new(copy)?;
            let mut lock = patch::locked(led)?;
            // SAFETY: the caller says that the list has such entries. Only the address of the list is used.
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

    /// Under the lock: puts `new` in the place of the current list, and retires the current list.
    fn replace<E>(&self, new: New<E>, _: &Lock) {
        self.count.store(new.as_ref().map_or(0, |list| list[0].probes.len()), Ordering::Relaxed);
        let old = self.list.swap(new.map_or(null_mut(), |list| Box::into_raw(list).cast()), Ordering::SeqCst);
        if !old.is_null() {
            // SAFETY: `old` is a list. Because of the lock nobody else looks at its header; readers look only at its probes.
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

/// Under the lock: lists that were replaced, and not freed yet.
static RETIRED: AtomicPtr<Header> = AtomicPtr::new(null_mut());

/// Lists that nobody is in. They are freed when this is dropped. Do not drop this under the lock, because closures are dropped with the
/// lists.
pub(super) struct Unused {
    first: *mut Header,
    /// Counts this thread as one that frees, so that others can wait for it.
    _freeing: Option<Inside>,
}

/// Under the lock: the retired lists that nobody is in any more. `empty` says which of the readers' counts were 0.
pub(super) fn unused(empty: u8, _: &Lock) -> Unused {
    let mut at = RETIRED.load(Ordering::Relaxed);
    let (mut kept, mut unused) = (null_mut(), null_mut());
    while !at.is_null() {
        // SAFETY: a list that was retired. Because of the lock nobody else looks at its header; readers look only at its probes.
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
    /// If the drop of one list panics, all other lists are dropped before the panic goes on.
    fn drop(&mut self) {
        let mut freed = Ok(());
        while !self.first.is_null() {
            let list = self.first;
            // SAFETY: a list that was retired, that nobody is in, and that is only in this chain.
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

    /// Whether data are dropped while a thread is in the probe that has them.
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
        // With the broken twin, the closure is dropped while it runs. So `GO`, which the closure uses after it has reported that it runs,
        // is a static and not in the closure.
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
        // These later changes each free the lists that they can free.
        (0..4).for_each(|_| drop(point.add_closure(Arc::new(|| ())).unwrap()));
        let early = DROPS.load(Ordering::SeqCst) != before;
        GO.store(true, Ordering::SeqCst);
        emitter.join().unwrap();
        crate::synchronize_probes().unwrap();
        assert_eq!(DROPS.load(Ordering::SeqCst), before + 1);
        early
    }

    /// A copy that never becomes the list may be the last that holds a closure: `synchronize_probes` waits for a thread that drops a copy.
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

    /// The check finds the broken twin, which frees at once.
    #[test]
    #[cfg_attr(miri, ignore = "it finds the twin by itself")]
    fn data_stay_while_a_thread_is_in_them() {
        assert!(!drops_too_early());
        FREES_AT_ONCE.store(true, Ordering::SeqCst);
        assert!(drops_too_early());
        FREES_AT_ONCE.store(false, Ordering::SeqCst);
    }
}
