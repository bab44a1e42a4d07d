//! The state that all instances of the library in a process share: the lock, and the list of instances.
//!
//! ```text
//!   first instance            second instance, later
//!   Runtime.process_state ─┐  finds the first in the loader's list of modules, makes a `ProcessState` if there is none, stores its address
//!                          ▼  in both Runtimes
//!   pages of their own: │ lock │ list of instances │     they belong to no module, and are never freed
//! ```
//!
//! A named object of the system (a mutex, a section) would bring the instances together, too. But another process could first make an object of that
//! name, and this process must not trust a pointer in it. The loader's list of modules belongs to this process. An instance reads the list when the
//! loader calls its constructor, because the loader's lock is held then. If there is only one instance, it makes the state at its first flip.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::lock::Lock;
use super::{modules, pages};
use crate::format::Runtime;
use crate::platform::instances::{GONE, RUNTIME, UNLISTED};
use crate::platform::notifiers::Notifiers;

#[repr(C)]
pub(super) struct ProcessState {
    /// The address of `here`. Tools follow this pointer to the lock (`format::process`).
    lock: NonNull<Lock>,
    runtimes: AtomicPtr<Runtime>,
    here: Lock,
    /// The functions to call after a key or a mode has changed.
    pub(super) notifiers: Notifiers,
}

impl ProcessState {
    pub(super) fn lock(&self) -> &Lock {
        // SAFETY: the pages are never freed.
        unsafe { self.lock.as_ref() }
    }

    /// The first instance in the list of instances. Puts this instance on the list, if it is not there. Called with the lock held.
    pub(super) fn runtimes(&self) -> *const Runtime {
        RUNTIME.list(&self.runtimes);
        self.runtimes.load(Ordering::Acquire)
    }

    fn make() -> Option<NonNull<ProcessState>> {
        let state = pages::allocate(size_of::<ProcessState>())?.cast::<ProcessState>();
        // SAFETY: the pages are zeroed, and nobody else has them. Zero is the first state of all fields except the pointer.
        unsafe { (&raw mut (*state.as_ptr()).lock).write(NonNull::from(&(*state.as_ptr()).here)) };
        Some(state)
    }
}

/// The state of this process. Makes the state if there is none yet. Returns `None` if there is no memory for it.
#[inline]
pub(super) fn get() -> Option<&'static ProcessState> {
    // A flip asks for the state several times.
    // SAFETY: all states of `RUNTIME` are of this type, and are never freed.
    let known = unsafe { RUNTIME.process_state.load(Ordering::Acquire).cast::<ProcessState>().as_ref() };
    if known.is_some() { known } else { agree(&RUNTIME, None) }
}

/// The state of `runtime`. If `runtime` has none, gives it the state `with`, or a new state if `with` is `None`.
#[inline(never)]
fn agree(runtime: &Runtime, with: Option<NonNull<ProcessState>>) -> Option<&'static ProcessState> {
    // SAFETY: `make` has allocated the state's pages, and nobody else has seen the state.
    let unmake = |state: NonNull<ProcessState>| unsafe { pages::release(state.cast()) };
    // SAFETY: all states here are of this type. A state that an instance has is never freed.
    unsafe { runtime.agree(with, ProcessState::make, unmake) }
}

/// Looks for another instance, and shares its state.
///
/// # Safety
/// The caller holds the loader's lock.
pub(super) unsafe fn announce() {
    RUNTIME.change_membership(GONE, UNLISTED);
    // SAFETY: the caller holds the loader's lock, so no module is unloaded meanwhile.
    let Some(other) = (unsafe { modules::find_other() }) else { return };
    let Some(state) = agree(other, None) else { return };
    agree(&RUNTIME, Some(NonNull::from(state)));
    if state.lock().acquire() {
        other.list(&state.runtimes);
        RUNTIME.list(&state.runtimes);
        state.lock().release();
    }
}

/// Takes this instance off the list, because its last object is being unloaded. The caller holds the lock.
pub(super) fn unlist() {
    let Some(state) = get() else { return };
    RUNTIME.unlist(&state.runtimes);
}
