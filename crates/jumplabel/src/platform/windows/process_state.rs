//! The process state: the lock, the list of instances and the table of registered functions. All instances of the library in a process share one such
//! state.
//!
//! ```text
//!   first instance            second instance, later
//!   Runtime.process_state ─┐  finds the first in the loader's list of modules, makes a `ProcessState` if there is none, stores its address
//!                          ▼  in both Runtimes
//!   pages of their own: │ lock │ list of instances, notifiers │     they belong to no module, and are never freed
//! ```
//!
//! A named object of the system (a mutex, a section) could also connect the instances. But another process could make an object of that name first,
//! and this process could not trust a pointer in it. The loader's list of modules belongs to this process alone. An instance reads that list in its
//! constructor, because the loader's lock is held at that time. An instance that is alone makes the state when it first takes the lock.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::lock::Lock;
use super::{modules, pages};
use crate::format::Runtime;
use crate::platform::instances::{GONE, RUNTIME, UNLISTED};
use crate::platform::notifiers::Notifiers;

#[repr(C)]
pub(super) struct ProcessState {
    /// The address of the field `here`. Tools follow this pointer to the lock (`format::process`), as they do on Linux, where the lock lies
    /// elsewhere.
    lock: NonNull<Lock>,
    runtimes: AtomicPtr<Runtime>,
    here: Lock,
    /// The functions to call when a key or a mode has changed.
    pub(super) notifiers: Notifiers,
}

impl ProcessState {
    pub(super) fn lock(&self) -> &Lock {
        // SAFETY: `make` has set the pointer to the field `here`, whose pages are never freed once an instance has the state.
        unsafe { self.lock.as_ref() }
    }

    /// The first instance in the list of instances. First puts this instance on the list, unless it is there or was taken off. Called with the lock
    /// held.
    pub(super) fn runtimes(&self) -> *const Runtime {
        RUNTIME.list(&self.runtimes);
        self.runtimes.load(Ordering::Acquire)
    }

    fn make() -> Option<NonNull<ProcessState>> {
        let state = pages::allocate(size_of::<ProcessState>())?.cast::<ProcessState>();
        // SAFETY: the pages are zeroed, and no other thread knows them. Zero is a valid first value of every field except this pointer.
        unsafe { (&raw mut (*state.as_ptr()).lock).write(NonNull::from(&(*state.as_ptr()).here)) };
        Some(state)
    }
}

/// The state of this process. Makes the state if there is none yet. `None` if there is no memory for it.
#[inline]
pub(super) fn get() -> Option<&'static ProcessState> {
    // SAFETY: the word is null or leads to a `ProcessState`, which is never freed once an instance has it.
    //
    // This case comes first, and is inlined, because a flip asks for the state several times.
    let known = unsafe { RUNTIME.process_state.load(Ordering::Acquire).cast::<ProcessState>().as_ref() };
    if known.is_some() { known } else { agree(&RUNTIME, None) }
}

/// The state that `runtime` has. If `runtime` has none, gives it the state `with` or, if `with` is `None`, a new state.
#[inline(never)]
fn agree(runtime: &Runtime, with: Option<NonNull<ProcessState>>) -> Option<&'static ProcessState> {
    // SAFETY: `Runtime::agree` passes the state that `make` has just allocated, and that no instance has.
    let unmake = |state: NonNull<ProcessState>| unsafe { pages::release(state.cast()) };
    // SAFETY: on this platform every state is a `ProcessState`, and is never freed once an instance has it.
    unsafe { runtime.agree(with, ProcessState::make, unmake) }
}

/// Looks for another instance, and shares one state with it. Puts both on the list.
///
/// # Safety
/// This thread holds the loader's lock.
pub(super) unsafe fn announce() {
    RUNTIME.change_membership(GONE, UNLISTED);
    // SAFETY: the caller guarantees that this thread holds the loader's lock.
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
