//! `jump_label_lock()`: lets a C caller hold the process-wide lock.
//!
//! The static `CALLERS_LOCK` of this instance holds the lock, and the number of the thread that took it. Holding the lock is also the right to access
//! the static. The `*_cpuslocked` forms are refused on other threads. A child of fork does not hold the lock: its only thread has a new number, and
//! the lock in the static is the parent's.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::Lock;

use crate::result::Refusal;
use crate::system::me;
use crate::warn::warn;

struct CallersLock {
    /// The number ([`me`]) of the thread that took the lock by `jump_label_lock`, or to which the lock was lent. Otherwise 0.
    owner: AtomicUsize,
    /// Only the owner accesses this.
    lock: UnsafeCell<Option<Lock>>,
    /// The address of `lock`, or of the lock that was lent.
    used: AtomicPtr<Lock>,
}

// SAFETY: only the thread that holds the process-wide lock touches `lock`.
unsafe impl Sync for CallersLock {}

static CALLERS_LOCK: CallersLock =
    CallersLock { owner: AtomicUsize::new(0), lock: UnsafeCell::new(None), used: AtomicPtr::new(null_mut()) };

/// Calls `body` with the lock, if the calling thread took it by `jump_label_lock` or was lent it; otherwise with `None`.
pub(crate) fn with<T>(body: impl FnOnce(Option<&mut Lock>) -> T) -> T {
    if CALLERS_LOCK.owner.load(Ordering::Relaxed) != me() {
        return body(None);
    }
    // SAFETY: this thread is the owner, and no `body` calls `with`, so there is no other reference.
    body(unsafe { CALLERS_LOCK.used.load(Ordering::Relaxed).as_mut() })
}

/// Calls `body` with the lock lent to it: in `body`, the `*_cpuslocked` forms use the lock of this function's caller.
#[cfg(feature = "kernel")]
pub(crate) fn lend(lock: &mut Lock, body: impl FnOnce()) {
    CALLERS_LOCK.used.store(lock, Ordering::Relaxed);
    CALLERS_LOCK.owner.store(me(), Ordering::Relaxed);
    body();
    CALLERS_LOCK.owner.store(0, Ordering::Relaxed);
}

/// Takes the lock that flips take, too.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_lock() {
    match Lock::take() {
        Ok(lock) => {
            // SAFETY: this thread holds the lock.
            let own = unsafe { &mut *CALLERS_LOCK.lock.get() };
            core::mem::forget(own.take()); // A lock that is already here is the parent's: this process was forked, and must not release it.
            CALLERS_LOCK.used.store(own.insert(lock), Ordering::Relaxed);
            CALLERS_LOCK.owner.store(me(), Ordering::Relaxed);
        }
        Err(error) => warn("jump_label_lock", null(), Refusal::from(error)),
    }
}

/// Releases the lock.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_unlock() {
    if CALLERS_LOCK.owner.load(Ordering::Relaxed) != me() {
        return warn("jump_label_unlock", null(), Refusal::NotLocked);
    }
    CALLERS_LOCK.owner.store(0, Ordering::Relaxed);
    // SAFETY: this thread is the owner. It empties the static before the release, because then another thread can put its own lock there at once.
    let lock = unsafe { (*CALLERS_LOCK.lock.get()).take() };
    drop(lock);
}

/// Returns 1 if a site overlaps the bytes from `start` to `end`, the byte at `end` included.
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
            1 // After an error, the bytes must not seem free, because the caller would write there.
        }
    }
}
