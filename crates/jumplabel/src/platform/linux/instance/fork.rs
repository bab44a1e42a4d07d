//! The handlers of fork (`pthread_atfork`). They hold the lock while the system forks the process, so that the child sees no unfinished batch.
//! (`process_state` and `patch::in_flight` handle the exceptions: a fork that gives up waiting for the lock or loses it, and a raw `clone`, which
//! runs no handlers.)
//!
//! The handlers of one instance work for all instances in the process. The program's instance always registers handlers. Another instance (of a
//! plugin, or of a library that the program is linked with) registers handlers only if no instance has any yet, and its object then stays loaded. So
//! two instances can have handlers: that of a library, whose constructors run before the program's, and that of the program. The handlers that are
//! called second find that the thread already has the lock, and change nothing.
//!
//! A handler must never be unloaded. Otherwise three things could go wrong:
//! * The C library finds a handler, another thread unloads the handler, and the C library calls it.
//! * A handler is unloaded while it waits for the lock, and then continues in code that is gone.
//! * A handler is unloaded after its `prepare` was called. Its `parent` is then never called, and the lock is never released.

use core::sync::atomic::{AtomicBool, Ordering};

use super::process_state;
use crate::platform::linux::libc;

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is a child of a fork that called these handlers, or a descendant of one.
pub(super) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

pub(crate) fn register() {
    // SAFETY: the three functions are never unloaded, because this instance is the program's or was kept loaded.
    //
    // The result is ignored. The call fails only if there is no memory, and a constructor cannot report that. A fork is then like a raw `clone`: the
    // child finds out from the wiped page that it must repair its sites. If the system does not wipe the page, the child does not find out, and may
    // find the lock held for ever; docs/safety.md says so.
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
