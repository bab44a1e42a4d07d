//! The handlers of fork. They hold the lock while the system forks the process, so no child ever sees an unfinished batch. A raw `clone` runs no
//! handlers; see `patch::in_flight`.
//!
//! The handlers of one instance work for all instances in the process. The program's instance always registers them. Another instance (of a plugin,
//! or of a library that the program is linked with) registers them only if no instance has them yet; its object then stays loaded. So two instances
//! can have handlers: that of a library, whose constructors run first, and that of the program. The handlers of the second one find the lock taken,
//! and change nothing.
//!
//! A handler must never be unloaded. Three things would go wrong otherwise:
//! * The C library looks a handler up and then calls it, even if another thread unloads the handler in between.
//! * A handler that is unloaded while it runs has nowhere to return to.
//! * If a handler is unloaded after its `prepare` ran, its `parent` is never called.

use core::sync::atomic::{AtomicBool, Ordering};

use super::process_state;
use crate::platform::linux::libc;

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is the child of a fork that called these handlers.
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
