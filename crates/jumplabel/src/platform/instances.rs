//! The instances of this library in a process, and the objects that are registered with each.
//!
//! ```text
//!  Platform::runtimes() ──► Runtime (one for each instance of this library) ──► next instance
//!                          │ objects
//!                          ▼
//!                       Object ──► Object ──► ...      one record in each, linked in by its constructor
//! ```
//!
//! The macros emit the record, once in each object (a COMDAT group), with a constructor that links it into the list of the
//! instance of this library that the object was linked with. Instances find each other through the platform, so a flip reaches all
//! objects, whatever instance they belong to.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::format::{MAGIC, Object, Runtime, VERSION, process};

/// Not on the list yet.
pub(crate) const UNLISTED: u32 = 0;
/// On the list.
#[cfg(jumplabel_linux)]
pub(crate) const LISTED: u32 = 1;
/// Taken off: the last object has gone. Code that still runs (a destructor behind ours) must not put it back.
#[cfg(jumplabel_linux)]
pub(crate) const GONE: u32 = 2;

/// No transaction is going on.
pub(crate) const NOTHING: u32 = process::IDLE;

/// This instance.
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
    /// The objects that are registered with it.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &'static Object> + use<> {
        let mut at = self.objects.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: records live as long as their object is loaded, and leave the list under the lock before.
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

    /// Says how the instance undoes or finishes a transaction that it has begun.
    pub(crate) fn set_recover(&self, recover: extern "C" fn()) {
        self.recover.store(recover as *mut (), Ordering::Relaxed);
    }

    /// Undoes or finishes the transaction that the instance has begun. The lock is held.
    pub(crate) fn recover(&self) {
        let recover = self.recover.load(Ordering::Relaxed);
        if !recover.is_null() {
            // SAFETY: from `set_recover`, in an instance that is loaded.
            unsafe { core::mem::transmute::<*mut (), extern "C" fn()>(recover)() };
        }
    }

    /// What [`tell`](Self::tell) calls from now on.
    #[cfg(jumplabel_sites)]
    pub(crate) fn set_tell(&self, tell: extern "C" fn(usize, usize)) {
        self.tell.store(tell as *mut (), Ordering::Relaxed);
    }

    /// An object is about to be unloaded; or, between 0 and 0, the process was forked. The lock is held.
    #[cfg(jumplabel_sites)]
    pub(crate) fn tell(&self, start: usize, end: usize) {
        let tell = self.tell.load(Ordering::Relaxed);
        if !tell.is_null() {
            // SAFETY: from `set_tell`, in an instance that is loaded.
            unsafe { core::mem::transmute::<*mut (), extern "C" fn(usize, usize)>(tell)(start, end) };
        }
    }

    /// Goes from membership `from` to another; returns whether it was in `from`. A kernel has one instance.
    #[cfg(jumplabel_linux)]
    pub(crate) fn change_membership(&self, from: u32, to: u32) -> bool {
        self.membership.load(Ordering::Relaxed) == from
            && self.membership.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// This instance is never unloaded, and has its handlers.
    #[cfg(jumplabel_linux)]
    pub(crate) fn stay(&self) {
        self.stays.store(1, Ordering::Relaxed);
    }

    /// Whether [`stay`](Self::stay) was called.
    #[cfg(jumplabel_linux)]
    pub(crate) fn stays(&self) -> bool {
        self.stays.load(Ordering::Relaxed) != 0
    }
}

/// The instance at `at`, and those after it.
///
/// # Safety
/// While the lock is held: an instance leaves the list under it before it is unloaded.
pub(crate) unsafe fn from(mut at: *const Runtime) -> impl Iterator<Item = &'static Runtime> {
    core::iter::from_fn(move || {
        // SAFETY: the caller holds the lock, and an instance leaves the list under it before it is unloaded.
        let runtime: &'static Runtime = unsafe { at.as_ref() }?;
        at = runtime.next.load(Ordering::Acquire);
        Some(runtime)
    })
}
