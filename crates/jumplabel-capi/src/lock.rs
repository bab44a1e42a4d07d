//! `jump_label_lock()`: the process-wide lock in the hands of a C caller.
//!
//! The lock is kept in a static of this instance of the library, which it guards itself, next to the name of the thread that
//! took it: a `*_cpuslocked` form is refused on any other thread. In a child of fork, which does not hold the lock, the one
//! thread has a new name, and what the static still holds is the parent's.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::Lock;

use crate::result::Refusal;
use crate::system::me;
use crate::warn::warn;

struct CallersLock {
    /// [`me`] of the thread that took the lock by `jump_label_lock`, or that it was lent to, else 0.
    owner: AtomicUsize,
    /// Touched by the owner only.
    lock: UnsafeCell<Option<Lock>>,
    /// That one, or the one that was lent.
    used: AtomicPtr<Lock>,
}

// SAFETY: `lock` is touched by the thread that holds the process-wide lock only.
unsafe impl Sync for CallersLock {}

static CALLERS_LOCK: CallersLock =
    CallersLock { owner: AtomicUsize::new(0), lock: UnsafeCell::new(None), used: AtomicPtr::new(null_mut()) };

/// Hands `body` the lock, if the calling thread took it by `jump_label_lock`.
pub(crate) fn with<T>(body: impl FnOnce(Option<&mut Lock>) -> T) -> T {
    if CALLERS_LOCK.owner.load(Ordering::Relaxed) != me() {
        return body(None);
    }
    // SAFETY: this thread is the owner, and no `body` calls this.
    body(unsafe { CALLERS_LOCK.used.load(Ordering::Relaxed).as_mut() })
}

/// Has `body` call the `*_cpuslocked` forms with a lock that is the caller's.
#[cfg(feature = "kernel")]
pub(crate) fn lend(lock: &mut Lock, body: impl FnOnce()) {
    CALLERS_LOCK.used.store(lock, Ordering::Relaxed);
    CALLERS_LOCK.owner.store(me(), Ordering::Relaxed);
    body();
    CALLERS_LOCK.owner.store(0, Ordering::Relaxed);
}

/// Takes the lock that flips take.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_lock() {
    match Lock::take() {
        Ok(lock) => {
            // SAFETY: the lock is held.
            let own = unsafe { &mut *CALLERS_LOCK.lock.get() };
            core::mem::forget(own.take()); // The parent's, which is not this process's to release.
            CALLERS_LOCK.used.store(own.insert(lock), Ordering::Relaxed);
            CALLERS_LOCK.owner.store(me(), Ordering::Relaxed);
        }
        Err(error) => warn("jump_label_lock", null(), Refusal::from(error)),
    }
}

/// Releases it.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_unlock() {
    if CALLERS_LOCK.owner.load(Ordering::Relaxed) != me() {
        return warn("jump_label_unlock", null(), Refusal::NotLocked);
    }
    CALLERS_LOCK.owner.store(0, Ordering::Relaxed);
    // SAFETY: this thread is the owner. Out of the static first: another thread may put its own there at once.
    let lock = unsafe { (*CALLERS_LOCK.lock.get()).take() };
    drop(lock);
}

/// Whether a site overlaps the bytes from `start` to `end`, which is included.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_text_reserved(start: *const u8, end: *const u8) -> c_int {
    let range = start as usize..(end as usize).saturating_add(1);
    let reserved = with(|lock| match lock {
        Some(lock) => Ok(jumplabel::text_reserved_locked(range.clone(), lock)),
        None => jumplabel::text_reserved(range.clone()),
    });
    match reserved {
        Ok(reserved) => c_int::from(reserved),
        Err(error) => {
            warn("jump_label_text_reserved", null(), Refusal::from(error));
            1 // Nobody should write there now.
        }
    }
}
