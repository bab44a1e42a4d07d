//! The probes of a tracepoint: a list that never changes. Another takes its place, and it is freed when nobody can be in it any more.
//!
//! ```text
//!   Probes ──► List: probe, probe, ...             who emits loads this once
//!   RETIRED ──► List ──► List                      each has seen which of the readers' words were 0 since it was retired
//! ```

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use super::Signature;
use super::readers::{self, BOTH, Inside};
use crate::patch::Lock;

/// The list of a tracepoint, without its type.
pub struct Probes {
    list: AtomicPtr<Header>,
    count: AtomicUsize,
}

/// What every list begins with.
struct Header {
    next: *mut Header,
    seen: u8,
    free: unsafe fn(*mut Header),
}

#[repr(C)]
pub(super) struct List<S: Signature> {
    header: Header,
    pub(super) probes: Vec<Entry<S>>,
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

impl<S: Signature> List<S> {
    /// `None` if it is empty.
    pub(super) fn new(probes: Vec<Entry<S>>) -> Option<Box<List<S>>> {
        /// Drops a list, and with it each closure that is in no other.
        unsafe fn free<S: Signature>(list: *mut Header) {
            // SAFETY: by the caller, a list with this function, which nobody else has.
            drop(unsafe { Box::from_raw(list.cast::<List<S>>()) });
        }
        let header = Header { next: null_mut(), seen: 0, free: free::<S> };
        (!probes.is_empty()).then(|| Box::new(List { header, probes }))
    }

    /// The probes of a list; none if it is null. No reference to all of the list: whoever retires it writes to its header.
    ///
    /// # Safety
    /// It stays as long as what is returned is used.
    pub(super) unsafe fn probes<'a>(list: *const List<S>) -> &'a [Entry<S>] {
        // SAFETY: by the contract.
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
    /// It is a tracepoint's with this signature.
    pub(super) unsafe fn list<S: Signature>(&self) -> *mut List<S> {
        self.list.load(Ordering::SeqCst).cast()
    }

    /// Under the lock: puts `new` in the place of the list, which is retired.
    ///
    /// # Safety
    /// As for [`list`](Self::list).
    pub(super) unsafe fn replace<S: Signature>(&self, new: Option<Box<List<S>>>, _: &Lock) {
        self.count.store(new.as_ref().map_or(0, |list| list.probes.len()), Ordering::Relaxed);
        let old = self.list.swap(new.map_or(null_mut(), |list| Box::into_raw(list).cast()), Ordering::SeqCst);
        if !old.is_null() {
            // SAFETY: a list. Because of the lock nobody else looks at its header; readers look at its probes.
            unsafe { (*old).next = RETIRED.load(Ordering::Relaxed) };
            RETIRED.store(old, Ordering::Relaxed);
        }
    }
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
    fn drop(&mut self) {
        while !self.first.is_null() {
            let list = self.first;
            // SAFETY: a list that was retired, that nobody is in, and that is in no chain but this.
            unsafe {
                self.first = (*list).next;
                ((*list).free)(list);
            }
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
