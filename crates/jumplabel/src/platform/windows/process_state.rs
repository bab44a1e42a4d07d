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

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::lock::Lock;
use super::{modules, pages};
use crate::format::Runtime;
use crate::platform::instances::{GONE, LISTED, RUNTIME, UNLISTED};

#[repr(C)]
pub(super) struct ProcessState {
    /// Tools follow this pointer (`format::process`).
    lock: NonNull<Lock>,
    runtimes: AtomicPtr<Runtime>,
    here: Lock,
}

impl ProcessState {
    pub(super) fn lock(&self) -> &Lock {
        // SAFETY: the pages are never freed.
        unsafe { self.lock.as_ref() }
    }

    /// Under the lock: the list of instances. Puts this instance on it, if it is not there.
    pub(super) fn runtimes(&self) -> *const Runtime {
        self.list(&RUNTIME);
        self.runtimes.load(Ordering::Acquire)
    }

    /// Under the lock: puts an instance on the list, if it is not there.
    fn list(&self, runtime: &Runtime) {
        if runtime.change_membership(UNLISTED, LISTED) {
            runtime.next.store(self.runtimes.load(Ordering::Relaxed), Ordering::Relaxed);
            self.runtimes.store(core::ptr::from_ref(runtime).cast_mut(), Ordering::Release);
        }
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

/// Gives `runtime` a state, if it has none: the state `with`, or a new one if that is `None`. If two threads or instances try at once, one
/// wins, and both get the state of the winner. Returns the state of `runtime`.
#[inline(never)]
fn agree(runtime: &Runtime, with: Option<NonNull<ProcessState>>) -> Option<&'static ProcessState> {
    let place = &runtime.process_state;
    // SAFETY: a state that was published is never freed.
    if let Some(state) = unsafe { place.load(Ordering::Acquire).cast::<ProcessState>().as_ref() } {
        return Some(state);
    }
    let offered = match with {
        Some(state) => state,
        None => ProcessState::make()?,
    };
    match place.compare_exchange(null_mut(), offered.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: the state is published now, so it is never freed.
        Ok(_) => Some(unsafe { offered.as_ref() }),
        Err(winner) => {
            if with.is_none() {
                // SAFETY: the state was made here, and was not published.
                unsafe { pages::release(offered.cast()) };
            }
            // SAFETY: the winner's state was published, so it is never freed.
            unsafe { winner.cast::<ProcessState>().as_ref() }
        }
    }
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
        state.list(other);
        state.list(&RUNTIME);
        state.lock().release();
    }
}

/// Takes this instance off the list, because its last object is being unloaded. The caller holds the lock.
pub(super) fn unlist() {
    let Some(state) = get() else { return };
    let me = core::ptr::from_ref(&RUNTIME).cast_mut();
    RUNTIME.change_membership(LISTED, GONE);
    let mut link = &state.runtimes;
    while let Some(at) = NonNull::new(link.load(Ordering::Relaxed)) {
        if at.as_ptr() == me {
            link.store(RUNTIME.next.load(Ordering::Relaxed), Ordering::Release);
            return;
        }
        // SAFETY: an instance on the list is loaded.
        link = unsafe { &at.as_ref().next };
    }
}
