//! The state of the library in a process: the lock, and the list of instances. All instances in the process share it.
//!
//! ```text
//!   first instance            second instance, later
//!   Runtime.process_state ─┐  finds the first in the loader's list of modules, makes a `ProcessState` if there is none, stores its address
//!                          ▼  in both Runtimes
//!   pages of their own: │ lock │ list of instances │     they belong to no module, and are never freed
//! ```
//!
//! A named object of the system (a mutex, a section) would bring the instances together, too. But another process could make an object of
//! that name first, and a pointer in it must not be trusted. The loader's list of modules is this process's own. An instance reads it when
//! the loader calls its constructor: the loader's lock is held then. If there is only one instance, it makes the state at its first flip.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::lock::Lock;
use super::{modules, pages};
use crate::format::Runtime;
use crate::platform::instances::{GONE, RUNTIME, UNLISTED};
use crate::platform::notifiers::Notifiers;

#[repr(C)]
pub(super) struct ProcessState {
    /// Tools follow this pointer (`format::process`).
    lock: NonNull<Lock>,
    runtimes: AtomicPtr<Runtime>,
    here: Lock,
    /// The functions to call when a key or a mode has changed.
    pub(super) notifiers: Notifiers,
}

impl ProcessState {
    pub(super) fn lock(&self) -> &Lock {
        // SAFETY: the pages are never freed.
        unsafe { self.lock.as_ref() }
    }

    /// Under the lock: the list of instances. Puts this instance on it, if it is not there.
    pub(super) fn runtimes(&self) -> *const Runtime {
        RUNTIME.list(&self.runtimes);
        self.runtimes.load(Ordering::Acquire)
    }

    fn make() -> Option<NonNull<ProcessState>> {
        let state = pages::allocate(size_of::<ProcessState>())?.cast::<ProcessState>();
        // SAFETY: the pages are zeroed and nobody else has them. Zero is the first state of all but the pointer.
        unsafe { (&raw mut (*state.as_ptr()).lock).write(NonNull::from(&(*state.as_ptr()).here)) };
        Some(state)
    }
}

/// The state of this process. Makes one, if there is none yet. `None` if there is no memory for it.
pub(super) fn get() -> Option<&'static ProcessState> {
    agree(&RUNTIME, None)
}

/// The state of `runtime`. If it has none, it gets the state `with`, or a new one if that is `None`.
#[inline(never)]
fn agree(runtime: &Runtime, with: Option<NonNull<ProcessState>>) -> Option<&'static ProcessState> {
    // SAFETY: nobody else has seen the state, whose pages `make` has allocated.
    let unmake = |state: NonNull<ProcessState>| unsafe { pages::release(state.cast()) };
    // SAFETY: all states here are of this type, and are never freed once an instance has them.
    unsafe { runtime.agree(with, ProcessState::make, unmake) }
}

/// Looks for another instance, and shares its state.
///
/// # Safety
/// The caller holds the loader's lock.
pub(super) unsafe fn announce() {
    RUNTIME.change_membership(GONE, UNLISTED);
    // SAFETY: the caller holds the loader's lock, so no module is unloaded.
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
