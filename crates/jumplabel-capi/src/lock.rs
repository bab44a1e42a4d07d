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

/// Releases the lock that `jump_label_lock` took. Warns if this thread does not hold it. Also warns, and changes nothing, if the lock was only lent to
/// the thread: the lender releases it.
#[unsafe(no_mangle)]
pub extern "C" fn jump_label_unlock() {
    match own_lock() {
        Some(lock) => {
            CALLERS_LOCK.owner.store(0, Ordering::Relaxed);
            drop(lock);
        }
        None => warn("jump_label_unlock", null(), Refusal::NotLocked),
    }
}

/// Takes the guard that this thread's `jump_label_lock` has put into the cell. `None` if the thread does not hold the lock, or if it was lent to it.
/// The cell is emptied before the lock is released: after the release, another thread may put its own guard there.
fn own_lock() -> Option<Lock> {
    if CALLERS_LOCK.owner.load(Ordering::Relaxed) != me() {
        return None;
    }
    // SAFETY: this thread holds the lock, so no other thread accesses the cell.
    unsafe { (*CALLERS_LOCK.lock.get()).take() }
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

#[cfg(all(test, feature = "kernel"))]
mod tests {
    use core::ffi::{CStr, c_char, c_void};

    use super::*;

    static WARNINGS: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn warned(text: *const c_char, _: *mut c_void) {
        // SAFETY: the hook gets a C string.
        let text = unsafe { CStr::from_ptr(text) }.to_str().unwrap();
        assert!(text.starts_with("jumplabel: jump_label_unlock(") && text.contains("does not hold"), "{text}");
        WARNINGS.fetch_add(1, Ordering::Relaxed);
    }

    fn is_held() -> bool {
        with(|lock| lock.is_some())
    }

    /// `jump_label_unlock` releases only a lock that `jump_label_lock` took, not one that was lent.
    #[test]
    fn lent() {
        crate::warn::jumplabel_set_warn(Some(warned), null_mut());
        let mut lock = Lock::take().unwrap();
        lend(&mut lock, || {
            assert!(is_held());
            jump_label_unlock();
            assert!(is_held() && WARNINGS.load(Ordering::Relaxed) == 1);
        });
        assert!(!is_held());
        drop(lock);
        jump_label_lock();
        assert!(is_held());
        jump_label_unlock();
        assert!(!is_held() && WARNINGS.load(Ordering::Relaxed) == 1);
        jump_label_unlock();
        assert_eq!(WARNINGS.load(Ordering::Relaxed), 2);
        crate::warn::jumplabel_set_warn(None, null_mut());
    }
}
