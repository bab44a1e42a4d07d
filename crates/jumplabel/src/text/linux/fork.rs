//! Fork: the lock is held while the process is copied, so that no child ever sees a half-written batch. A child made by a
//! raw `clone` runs no handlers; see `patch::in_flight`.
//!
//! One copy of the library in a process holds the lock for all: the program's, or, if that has none, the first plugin's. Its
//! handlers must never be unloaded: the C library calls a handler that it has looked up even if another thread unloads it
//! before, returns into one that was unloaded meanwhile, and forgets one that has begun. So that plugin stays loaded.

use core::sync::atomic::{AtomicBool, Ordering};

use super::{libc, shared};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process was made by fork, which called the handlers.
pub(super) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

pub(super) fn register() {
    // Without memory for the entry there is nothing to be done in a constructor; a child then settles by itself.
    // SAFETY: this copy is never unloaded.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    if let Some(shared) = shared::get() {
        shared.begin_fork();
    }
}

extern "C" fn parent() {
    if let Some(shared) = shared::get() {
        shared.end_fork();
    }
}

extern "C" fn child() {
    IS_CHILD.store(true, Ordering::Relaxed);
    let unsettled = shared::get().is_some_and(|shared| !shared.begin_child());
    if let Some(hooks) = super::hooks() {
        (hooks.forked)(unsettled);
    }
}
