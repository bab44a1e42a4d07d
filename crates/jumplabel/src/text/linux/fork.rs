//! Fork: the lock is held while the process is copied, so that no child ever sees a half-written batch. A child made by a
//! raw `clone` runs no handlers: it finds the lock free (its page is wiped), every site in a legal state, and is on its
//! own otherwise.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{libc, shared};

/// Of this copy: between `prepare` and `parent` or `child`.
static HELD: AtomicBool = AtomicBool::new(false);
static TOKEN: AtomicU64 = AtomicU64::new(0);

pub(super) fn register() {
    // Without memory for the entry there is nothing to be done in a constructor; fork in mid-flip is then not covered.
    // SAFETY: the handlers are as long-lived as this object: the C library drops them when it is unloaded.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    // Another copy's handler may hold the lock for this thread already: then that copy releases it.
    if let Some(Ok(token)) = shared::get().map(|shared| shared.take()) {
        TOKEN.store(token, Ordering::Relaxed);
        HELD.store(true, Ordering::Relaxed);
    }
}

extern "C" fn parent() {
    if let Some(shared) = held() {
        shared.release(TOKEN.load(Ordering::Relaxed));
    }
}

extern "C" fn child() {
    if let Some(shared) = held() {
        shared.reset(TOKEN.load(Ordering::Relaxed));
    }
}

/// What `prepare` of this copy took, once.
fn held() -> Option<&'static shared::Shared> {
    HELD.swap(false, Ordering::Relaxed).then(shared::get).flatten()
}
