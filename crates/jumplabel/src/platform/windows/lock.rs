//! The process-wide lock: a word that names its owner, and what threads sleep on that wait for it.
//!
//! ```text
//!   0               free
//!   number          a thread has it
//!   ... | WAITERS   in addition, another thread possibly sleeps
//! ```
//!
//! Windows has no signals: only an exception in the patcher itself can have the owner try to take the lock again. Then the lock recognises
//! the number of the thread, and refuses. A slim lock of the system would wait for itself, and an owner that was ended (`TerminateThread`)
//! would keep it for ever. So the system's slim lock guards only the way to sleep, for some instructions: no sleep is for ever, and who
//! wakes up without being woken looks whether the owner still exists. If not, it takes the lock over, and undoes what the owner left.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use super::kernel32::{self, *};

const FREE: u32 = 0;
/// No thread has a number with this bit: numbers are those of handles, and small.
const WAITERS: u32 = 1 << 31;

/// The longest sleep, in milliseconds.
const LONGEST: u32 = 100;

/// All of it is zero at first.
#[repr(C)]
pub(super) struct Lock {
    word: AtomicU32,
    /// Stands beside the word for tools. On Linux, fork sets it to 0.
    consistent: AtomicU32,
    guard: UnsafeCell<Word>,
    condition: UnsafeCell<Word>,
}

// SAFETY: the system's functions, which alone use the two cells, are made for several threads.
unsafe impl Sync for Lock {}

impl Lock {
    /// Takes the lock. False if the calling thread has it.
    pub(super) fn acquire(&self) -> bool {
        let me = kernel32::GetCurrentThreadId();
        // A thread that has slept sets `WAITERS` when it takes the lock, because other threads possibly still sleep.
        let (mut mine, mut expected) = (me, FREE);
        loop {
            let now = match self.word.compare_exchange(expected, mine, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => now,
            };
            if now & !WAITERS == me {
                return false;
            }
            expected = FREE;
            let marked = now | WAITERS;
            if now == FREE || self.word.compare_exchange(now, marked, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                continue;
            }
            mine = me | WAITERS;
            if !self.sleep(marked) && is_gone(now & !WAITERS) {
                expected = marked;
            }
        }
    }

    /// Releases the lock, which the calling thread has.
    pub(super) fn release(&self) {
        if self.word.swap(FREE, Ordering::Release) & WAITERS != 0 {
            let (guard, condition) = (self.guard.get(), self.condition.get());
            // SAFETY: both cells live as long as the process. Whoever is about to sleep has the guard until it sleeps.
            unsafe {
                kernel32::AcquireSRWLockExclusive(guard);
                kernel32::ReleaseSRWLockExclusive(guard);
                kernel32::WakeConditionVariable(condition);
            }
        }
    }

    /// Sleeps until somebody wakes this thread, if the word is `marked`; if not, returns at once. Can also return for no reason. False if the
    /// sleep took as long as [`LONGEST`].
    #[cold]
    fn sleep(&self, marked: u32) -> bool {
        let (guard, condition) = (self.guard.get(), self.condition.get());
        // SAFETY: both cells live as long as the process, and this thread does not have the guard.
        unsafe {
            kernel32::AcquireSRWLockExclusive(guard);
            let woken = self.word.load(Ordering::Relaxed) != marked
                || kernel32::SleepConditionVariableSRW(condition, guard, LONGEST, 0) != 0;
            kernel32::ReleaseSRWLockExclusive(guard);
            woken
        }
    }
}

/// Whether this process has no such thread any more. False if the system does not tell.
#[cold]
fn is_gone(thread: u32) -> bool {
    let handle = kernel32::OpenThread(SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION, 0, thread);
    if handle == 0 {
        return kernel32::GetLastError() == ERROR_INVALID_PARAMETER;
    }
    // SAFETY: the handle is this function's own.
    unsafe {
        let has_ended = kernel32::WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
        // The system gives the numbers of threads that have ended to other threads.
        let is_here = kernel32::GetProcessIdOfThread(handle) == kernel32::GetCurrentProcessId();
        kernel32::CloseHandle(handle);
        has_ended || !is_here
    }
}

#[cfg(test)]
mod tests {
    use super::{Lock, is_gone};
    use crate::platform::windows::kernel32;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
    use std::thread;

    fn new() -> Lock {
        // SAFETY: all of it is zero at first.
        unsafe { core::mem::zeroed() }
    }

    #[test]
    fn one_thread_at_a_time() {
        const EACH: usize = 10_000;
        let (lock, inside, total) = (new(), AtomicU32::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        assert!(lock.acquire());
                        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                        if total.load(Ordering::Relaxed) % 64 == 0 {
                            thread::yield_now(); // Others come and sleep.
                        }
                        total.store(total.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        inside.fetch_sub(1, Ordering::Relaxed);
                        lock.release();
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 3 * EACH);
        assert_eq!(lock.word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_owner_is_refused_and_another_waits() {
        let lock = new();
        assert!(lock.acquire() && !lock.acquire());
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                assert!(lock.acquire());
                lock.release();
            });
            while lock.word.load(Ordering::Relaxed) & super::WAITERS == 0 {
                thread::yield_now();
            }
            assert!(!lock.acquire(), "with a waiter");
            lock.release();
            other.join().unwrap();
        });
    }

    #[test]
    fn an_owner_that_has_ended_loses_it() {
        let lock = new();
        let thread = thread::scope(|scope| {
            let owner = scope.spawn(|| {
                assert!(lock.acquire());
                kernel32::GetCurrentThreadId()
            });
            owner.join().unwrap()
        });
        while !is_gone(thread) {
            thread::yield_now();
        }
        assert!(!is_gone(kernel32::GetCurrentThreadId()));
        assert!(lock.acquire());
        lock.release();
    }
}
