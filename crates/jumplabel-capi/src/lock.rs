//! `jump_label_lock()`: lets C code hold the process-wide lock.
//!
//! The static `CALLERS_LOCK` of this instance has the lock's guard, and the number of the thread that took the lock. Only the thread that holds the
//! lock accesses the guard. On other threads, the `*_cpuslocked` functions are refused. A child of fork does not hold the lock, although it has a
//! copy of the parent's guard: the child's only thread has another number.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::Lock;

use crate::result::Refusal;
use crate::system::me;
use crate::warn::warn;

struct CallersLock {
    /// The number ([`me`]) of the thread that took the lock by `jump_label_lock`, or to which the lock was lent (`lend`). 0 if there is none.
    owner: AtomicUsize,
    /// The guard that `jump_label_lock` got. Only the thread that holds the lock accesses it.
    lock: UnsafeCell<Option<Lock>>,
    /// The address of the guard that the owner uses: that in `lock`, or the lent one.
    used: AtomicPtr<Lock>,
}

// SAFETY: only the thread that holds the process-wide lock accesses `lock`. The other fields are atomic.
unsafe impl Sync for CallersLock {}

static CALLERS_LOCK: CallersLock =
    CallersLock { owner: AtomicUsize::new(0), lock: UnsafeCell::new(None), used: AtomicPtr::new(null_mut()) };

/// Calls `body` with the lock if the calling thread took it by `jump_label_lock`, or if the lock was lent to the thread; otherwise with `None`.
pub(crate) fn with<T>(body: impl FnOnce(Option<&mut Lock>) -> T) -> T {
    if CALLERS_LOCK.owner.load(Ordering::Relaxed) != me() {
        return body(None);
    }
    // SAFETY: this thread is the owner, so `used` leads to the guard of the lock that it holds. No `body` calls `with`, so there is no other
    // reference.
    body(unsafe { CALLERS_LOCK.used.load(Ordering::Relaxed).as_mut() })
}

/// Lends `lock` to the calling thread while `body` runs: in `body`, the `*_cpuslocked` functions use it.
#[cfg(feature = "kernel")]
pub(crate) fn lend(lock: &mut Lock, body: impl FnOnce()) {
    CALLERS_LOCK.used.store(lock, Ordering::Relaxed);
    CALLERS_LOCK.owner.store(me(), Ordering::Relaxed);
    body();
    CALLERS_LOCK.owner.store(0, Ordering::Relaxed);
}

/// Takes the process-wide lock, which flips take, too. Warns of an error.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_lock() {
    match Lock::take() {
        Ok(lock) => {
            // SAFETY: this thread holds the lock, so no other thread accesses the cell.
            let own = unsafe { &mut *CALLERS_LOCK.lock.get() };
            core::mem::forget(own.take()); // A guard that is here already is a copy of the parent's, made by fork. Its drop would release this lock.
            CALLERS_LOCK.used.store(own.insert(lock), Ordering::Relaxed);
            CALLERS_LOCK.owner.store(me(), Ordering::Relaxed);
        }
        Err(error) => warn("jump_label_lock", null(), Refusal::from(error)),
    }
}

/// Releases the lock that `jump_label_lock` took. Warns if this thread does not hold it.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_unlock() {
    if CALLERS_LOCK.owner.load(Ordering::Relaxed) != me() {
        return warn("jump_label_unlock", null(), Refusal::NotLocked);
    }
    CALLERS_LOCK.owner.store(0, Ordering::Relaxed);
    // The cell is emptied before the lock is released: after the release, another thread may put its own guard there.
    // SAFETY: this thread holds the lock, so no other thread accesses the cell.
    let lock = unsafe { (*CALLERS_LOCK.lock.get()).take() };
    drop(lock);
}

/// Returns 1 if a site overlaps the bytes from `start` to `end`, including the byte at `end`; otherwise 0. Warns of an error, and returns 1 then.
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
            1 // After an error, the bytes count as reserved: otherwise the caller would write there.
        }
    }
}
