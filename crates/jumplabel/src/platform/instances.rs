//! The instances of this library in a process, and the objects that are registered with each.
//!
//! ```text
//!  Platform::runtimes() ──► Runtime (one for each instance of this library) ──► next instance
//!                          │ objects
//!                          ▼
//!                       Object ──► Object ──► ...      the record of each object, which its constructor has linked in
//! ```
//!
//! In each object, the macros emit one record (a COMDAT group) and a constructor. Each instance has a list of records. An object is linked with one
//! instance, and the object's constructor links its record into the list of that instance. Instances find each other through the platform. So a
//! flip reaches all objects, whichever instance they belong to.

use core::ptr::null_mut;
#[cfg(jumplabel_user_space)]
use core::ptr::{NonNull, from_ref};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::format::{MAGIC, Object, Runtime, VERSION, process};

/// The instance is not on the list of instances yet.
pub(crate) const UNLISTED: u32 = 0;
/// The instance is on the list.
#[cfg(jumplabel_user_space)]
const LISTED: u32 = 1;
/// The instance was taken off the list, because its last object has been unloaded. Code that still runs (a destructor after ours) must not
/// put the instance back.
#[cfg(jumplabel_user_space)]
pub(crate) const GONE: u32 = 2;

/// No transaction is going on.
pub(crate) const NOTHING: u32 = process::IDLE;

/// The record of this instance of the library.
pub static RUNTIME: Runtime = Runtime {
    magic: MAGIC,
    version: VERSION,
    membership: AtomicU32::new(UNLISTED),
    stays: AtomicU32::new(0),
    phase: AtomicU32::new(NOTHING),
    objects: AtomicPtr::new(null_mut()),
    next: AtomicPtr::new(null_mut()),
    process_state: AtomicPtr::new(null_mut()),
    recover: AtomicPtr::new(null_mut()),
    tell: AtomicPtr::new(null_mut()),
};

impl Runtime {
    /// The objects that are registered with this instance.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &'static Object> + use<> {
        let mut at = self.objects.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: a record lives as long as its object is loaded. Before the object is unloaded, the record leaves the list, under the
            // lock.
            let object = unsafe { at.as_ref() }?;
            at = object.next.load(Ordering::Acquire);
            Some(object)
        })
    }

    /// Whether no object is registered with this instance.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.load(Ordering::Acquire).is_null()
    }

    /// Sets the function that [`recover`](Self::recover) calls. It undoes or finishes a transaction that this instance began.
    pub(crate) fn set_recover(&self, recover: extern "C" fn()) {
        self.recover.store(recover as *mut (), Ordering::Relaxed);
    }

    /// Undoes or finishes the transaction that this instance began. The caller holds the lock.
    pub(crate) fn recover(&self) {
        let recover = self.recover.load(Ordering::Relaxed);
        if !recover.is_null() {
            // SAFETY: the pointer came from `set_recover`, and its instance is loaded.
            unsafe { core::mem::transmute::<*mut (), extern "C" fn()>(recover)() };
        }
    }

    /// Sets the function that [`tell`](Self::tell) calls.
    #[cfg(jumplabel_sites)]
    pub(crate) fn set_tell(&self, tell: extern "C" fn(usize, usize)) {
        self.tell.store(tell as *mut (), Ordering::Relaxed);
    }

    /// Tells this instance that the object at `start..end` is about to be unloaded. If both are 0, makes this instance set all sites to the states
    /// of their patchables, because the process was forked or an object was loaded. The caller holds the lock.
    #[cfg(jumplabel_sites)]
    pub(crate) fn tell(&self, start: usize, end: usize) {
        let tell = self.tell.load(Ordering::Relaxed);
        if !tell.is_null() {
            // SAFETY: the pointer came from `set_tell`, and its instance is loaded.
            unsafe { core::mem::transmute::<*mut (), extern "C" fn(usize, usize)>(tell)(start, end) };
        }
    }

    /// If the membership of this instance is `from`, changes it to `to`. Returns whether it was `from`. (Kernels have only one instance, so they
    /// do not need this.)
    #[cfg(jumplabel_user_space)]
    pub(crate) fn change_membership(&self, from: u32, to: u32) -> bool {
        self.membership.load(Ordering::Relaxed) == from
            && self.membership.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Puts this instance on the list that begins at `first`, if it is not there. The caller holds the lock.
    #[cfg(jumplabel_user_space)]
    pub(crate) fn list(&self, first: &AtomicPtr<Runtime>) {
        if self.change_membership(UNLISTED, LISTED) {
            self.next.store(first.load(Ordering::Relaxed), Ordering::Relaxed);
            first.store(from_ref(self).cast_mut(), Ordering::Release);
        }
    }

    /// Takes this instance off the list that begins at `first`, because its last object is being unloaded. The caller holds the lock.
    #[cfg(jumplabel_user_space)]
    pub(crate) fn unlist(&self, first: &AtomicPtr<Runtime>) {
        self.change_membership(LISTED, GONE);
        let mut link = first;
        while let Some(at) = NonNull::new(link.load(Ordering::Relaxed)) {
            if core::ptr::eq(at.as_ptr(), self) {
                link.store(self.next.load(Ordering::Relaxed), Ordering::Release);
                return;
            }
            // SAFETY: an instance on the list is loaded.
            link = unsafe { &at.as_ref().next };
        }
    }

    /// The state of the process, as this instance knows it. An instance without a state gets the state `with` or, if `with` is `None`, a new state
    /// from `make`. If two threads or instances try at the same time, one wins, and both get the state of the winner. `unmake` frees the other
    /// state, if it was made here. `None` if `make` has no memory.
    ///
    /// # Safety
    /// All calls for one instance are for the same type `State`. A state that was given to an instance is never freed.
    #[cfg(jumplabel_user_space)]
    #[inline]
    pub(crate) unsafe fn agree<State: 'static>(
        &self,
        with: Option<NonNull<State>>,
        make: impl FnOnce() -> Option<NonNull<State>>,
        unmake: impl FnOnce(NonNull<State>),
    ) -> Option<&'static State> {
        let place = &self.process_state;
        // SAFETY: a state that was published is never freed.
        if let Some(state) = unsafe { place.load(Ordering::Acquire).cast::<State>().as_ref() } {
            return Some(state);
        }
        let offered = match with {
            Some(state) => state,
            None => make()?,
        };
        match place.compare_exchange(null_mut(), offered.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the state is published now, so it is never freed.
            Ok(_) => Some(unsafe { offered.as_ref() }),
            Err(winner) => {
                if with.is_none() {
                    unmake(offered);
                }
                // SAFETY: the winner's state was published, so it is never freed.
                unsafe { winner.cast::<State>().as_ref() }
            }
        }
    }

    /// Records that this instance is never unloaded, and has the handlers of fork and exit.
    #[cfg(jumplabel_user_space)]
    pub(crate) fn stay(&self) {
        self.stays.store(1, Ordering::Relaxed);
    }

    /// Whether [`stay`](Self::stay) was called.
    #[cfg(jumplabel_user_space)]
    pub(crate) fn stays(&self) -> bool {
        self.stays.load(Ordering::Relaxed) != 0
    }
}

/// The instance at `at`, and the instances after it in the list.
///
/// # Safety
/// The lock is held while the iterator is used. (Before an instance is unloaded, it leaves the list, under the lock.)
pub(crate) unsafe fn from(mut at: *const Runtime) -> impl Iterator<Item = &'static Runtime> {
    core::iter::from_fn(move || {
        // SAFETY: the caller holds the lock. Before an instance is unloaded, it leaves the list, under the lock.
        let runtime: &'static Runtime = unsafe { at.as_ref() }?;
        at = runtime.next.load(Ordering::Acquire);
        Some(runtime)
    })
}
