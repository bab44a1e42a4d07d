//! Fork: a handler holds the lock while the system copies the process, so no child ever sees half a batch. A raw `clone` runs no
//! handlers; see `patch::in_flight`.
//!
//! One instance of the library in a process has the handlers for all: the program's, or, if the program has none, the first plugin's. The
//! handlers must never be unloaded, so that plugin stays loaded. The C library calls a handler that it has looked up even if another
//! thread unloads it before the call; it returns into one that was unloaded meanwhile; and if a handler is unloaded after its `prepare`
//! ran, its `parent` is never called.

use core::sync::atomic::{AtomicBool, Ordering};

use super::process_state;
use crate::platform::linux::libc;

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process was made by fork, which called the handlers.
pub(super) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

pub(crate) fn register() {
    // If there is no memory for the handlers, a constructor cannot report that; a child then puts its sites right by itself.
    // SAFETY: this instance is never unloaded.
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
