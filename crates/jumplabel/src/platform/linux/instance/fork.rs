//! Fork. A handler holds the lock while the system forks the process, so no child ever sees an unfinished batch. A raw `clone` runs no handlers;
//! see `patch::in_flight`.
//!
//! One instance of the library in a process has the handlers for all instances. It is the program's instance or, if the program has no instance,
//! the one of the first plugin. That plugin then stays loaded, because the handlers must never be unloaded. Three things would go wrong
//! otherwise:
//! * The C library looks a handler up and then calls it, even if another thread unloads the handler in between.
//! * A handler that is unloaded while it runs has nowhere to return to.
//! * If a handler is unloaded after its `prepare` ran, its `parent` is never called.

use core::sync::atomic::{AtomicBool, Ordering};

use super::process_state;
use crate::platform::linux::libc;

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process was made by a fork that called these handlers.
pub(super) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

pub(crate) fn register() {
    // The registration fails if there is too little memory, and a constructor cannot report that. A child then finds out by itself that it must
    // repair its sites. SAFETY: this instance is never unloaded.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    if let Some(state) = process_state::get() {
        state.before_fork();
    }
}

extern "C" fn parent() {
    if let Some(state) = process_state::get() {
        state.after_fork();
    }
}

extern "C" fn child() {
    IS_CHILD.store(true, Ordering::Relaxed);
    let in_mid_flip = process_state::get().is_some_and(|state| !state.after_fork_in_child());
    if let Some(callbacks) = super::callbacks() {
        (callbacks.forked)(in_mid_flip);
    }
}
