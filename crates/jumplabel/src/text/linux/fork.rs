//! Fork: the lock is held while the process is copied, so that no child ever sees a half-written batch. A child made by a
//! raw `clone` runs no handlers; see `patch::in_flight`.
//!
//! One copy of the library in a process is enough to hold the lock for all: a plugin leaves it to the program's, whose
//! handlers are never unloaded. A plugin that has to do it itself waits, when it is unloaded, for threads that are inside of
//! its handler.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::{libc, shared};
use crate::site::object::RUNTIME;

/// Between `prepare` and `parent` or `child`: this copy took the lock.
static HELD: AtomicBool = AtomicBool::new(false);
static TOKEN: AtomicU64 = AtomicU64::new(0);
/// Threads inside of `prepare`.
static PREPARING: AtomicU32 = AtomicU32::new(0);

pub(super) fn register() {
    // Without memory for the entry there is nothing to be done in a constructor; fork in mid-flip is then not covered.
    // SAFETY: the handlers are as long-lived as this object: the C library drops them when it is unloaded.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

/// Waits until no thread is inside of `prepare`. Those that come later find the list of objects empty.
pub(super) fn drain() {
    while PREPARING.load(Ordering::Acquire) != 0 {
        rustix::thread::sched_yield();
    }
}

extern "C" fn prepare() {
    PREPARING.fetch_add(1, Ordering::AcqRel);
    // Another copy's handler may hold the lock for this thread already: then that copy releases it.
    if let Some((shared, Ok(token))) = shared::get().map(|shared| (shared, shared.take())) {
        if RUNTIME.is_empty() {
            shared.release(token); // This copy is being unloaded: `parent` may never be called.
        } else {
            TOKEN.store(token, Ordering::Relaxed);
            HELD.store(true, Ordering::Relaxed);
        }
    }
    PREPARING.fetch_sub(1, Ordering::AcqRel);
}

extern "C" fn parent() {
    if let Some(shared) = held() {
        shared.release(TOKEN.load(Ordering::Relaxed));
    }
}

extern "C" fn child() {
    #[cfg(feature = "std")]
    crate::key::deferred::worker::forked();
    PREPARING.store(0, Ordering::Relaxed);
    if let Some(shared) = held() {
        shared.reset(TOKEN.load(Ordering::Relaxed));
    }
}

/// What `prepare` of this copy took, once.
fn held() -> Option<&'static shared::Shared> {
    HELD.swap(false, Ordering::Relaxed).then(shared::get).flatten()
}
