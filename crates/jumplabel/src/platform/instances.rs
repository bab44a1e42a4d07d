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
//! instance, and the object's constructor puts the object's record on the list of that instance. The platform connects the instances of a process. So
//! a flip by one instance reaches the objects of all instances.

use core::ptr::null_mut;
#[cfg(jumplabel_user_space)]
use core::ptr::{NonNull, from_ref};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::format::{MAGIC, Object, Runtime, VERSION, process};

/// Membership: the instance is not on the list of instances yet.
pub(crate) const UNLISTED: u32 = 0;
/// Membership: the instance is on the list.
#[cfg(jumplabel_user_space)]
const LISTED: u32 = 1;
/// Membership: the instance was taken off the list, because its last object is being unloaded. The instance is not put back on the list by code that
/// still runs, such as a destructor that runs after the library's own.
#[cfg(jumplabel_user_space)]
pub(crate) const GONE: u32 = 2;

/// The phase of an instance that has no unfinished transaction.
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
    /// The records of the objects that are registered with this instance.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &'static Object> + use<> {
        let mut at = self.objects.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: every record on the list belongs to a loaded object: the object's destructor takes the record off the list, under the lock,
            // before the object is unloaded.
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

    /// Sets the function that [`recover`](Self::recover) calls. That function undoes or finishes the transaction that this instance began.
    pub(crate) fn set_recover(&self, recover: extern "C" fn()) {
        self.recover.store(recover as *mut (), Ordering::Relaxed);
    }

    /// Undoes or finishes an unfinished transaction of this instance. The caller holds the lock, and may belong to another instance.
    pub(crate) fn recover(&self) {
        let recover = self.recover.load(Ordering::Relaxed);
        if !recover.is_null() {
            // SAFETY: the pointer came from `set_recover`, so it is such a function. The caller holds the lock, so the instance with that function
            // stays loaded.
            unsafe { core::mem::transmute::<*mut (), extern "C" fn()>(recover)() };
        }
    }

    /// Sets the function that [`tell`](Self::tell) calls.
    #[cfg(jumplabel_sites)]
    pub(crate) fn set_tell(&self, tell: extern "C" fn(usize, usize)) {
        self.tell.store(tell as *mut (), Ordering::Relaxed);
    }

    /// Tells this instance that the object at `start..end` is about to be unloaded. If `start` and `end` are 0, this instance instead sets all sites
    /// to the states of their patchables, because the process was forked or an object was loaded. The caller holds the lock, and may belong to
    /// another instance.
    #[cfg(jumplabel_sites)]
    pub(crate) fn tell(&self, start: usize, end: usize) {
        let tell = self.tell.load(Ordering::Relaxed);
        if !tell.is_null() {
            // SAFETY: the pointer came from `set_tell`, so it is such a function. The caller holds the lock, so the instance with that function stays
            // loaded.
            unsafe { core::mem::transmute::<*mut (), extern "C" fn(usize, usize)>(tell)(start, end) };
        }
    }

    /// Changes the membership of this instance from `from` to `to`. Returns false, and changes nothing, if the membership is not `from`. (Kernels
    /// have only one instance, so they need no membership.)
    #[cfg(jumplabel_user_space)]
    pub(crate) fn change_membership(&self, from: u32, to: u32) -> bool {
        self.membership.load(Ordering::Relaxed) == from
            && self.membership.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Puts this instance on the list that begins at `first`, unless it is there already or was taken off. The caller holds the lock.
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
            // SAFETY: an instance on the list is loaded, because it leaves the list, under the lock, before it is unloaded.
            link = unsafe { &at.as_ref().next };
        }
    }

    /// The state of the process that is stored in this instance. If none is stored yet, stores `with` or, if `with` is `None`, a new state from
    /// `make`. If two threads do this at the same time, both get the state that was stored first, and the thread that came second frees a state that
    /// it made, with `unmake`. Returns `None` if `make` has no memory.
    ///
    /// # Safety
    /// All calls for one instance use the same type `State`. A state that is stored in an instance is never freed.
    #[cfg(jumplabel_user_space)]
    #[inline]
    pub(crate) unsafe fn agree<State: 'static>(
        &self,
        with: Option<NonNull<State>>,
        make: impl FnOnce() -> Option<NonNull<State>>,
        unmake: impl FnOnce(NonNull<State>),
    ) -> Option<&'static State> {
        let place = &self.process_state;
        // SAFETY: the caller guarantees that a stored state is a `State`, and is never freed.
        if let Some(state) = unsafe { place.load(Ordering::Acquire).cast::<State>().as_ref() } {
            return Some(state);
        }
        let offered = match with {
            Some(state) => state,
            None => make()?,
        };
        match place.compare_exchange(null_mut(), offered.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the state is stored now, so the caller guarantees that it is never freed.
            Ok(_) => Some(unsafe { offered.as_ref() }),
            Err(winner) => {
                if with.is_none() {
                    unmake(offered);
                }
                // SAFETY: the state of the other thread was stored, so the caller guarantees that it is never freed.
                unsafe { winner.cast::<State>().as_ref() }
            }
        }
    }

    /// Records that this instance is never unloaded, and has registered the handlers of fork and exit. (On Windows, records only that the platform
    /// was started.)
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
/// The caller holds the lock while it uses the iterator and the instances. (Before an instance is unloaded, it leaves the list, under the lock.)
pub(crate) unsafe fn from(mut at: *const Runtime) -> impl Iterator<Item = &'static Runtime> {
    core::iter::from_fn(move || {
        // SAFETY: the caller holds the lock. An instance leaves the list, under the lock, before it is unloaded. So every instance on the list is
        // loaded now.
        let runtime: &'static Runtime = unsafe { at.as_ref() }?;
        at = runtime.next.load(Ordering::Acquire);
        Some(runtime)
    })
}
