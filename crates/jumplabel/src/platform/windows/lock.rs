//! The process-wide lock: a word that names its owner, and a condition variable on which waiting threads sleep.
//!
//! ```text
//!   0               free
//!   number          a thread has it
//!   ... | WAITERS   in addition, another thread possibly sleeps
//! ```
//!
//! Windows has no signals, so only an exception in the patcher itself can make the owner try to take the lock again. Then the lock recognises the
//! number of its owner, and refuses. The system's own slim lock would wait for itself, and an owner that was ended (`TerminateThread`) would keep
//! that lock for ever. So the slim lock guards only the way to sleep, for some instructions. No sleep lasts for ever. If nobody wakes a thread, it
//! wakes up by itself and looks whether the owner still exists. If the owner is gone, the thread takes the lock over, and undoes what the owner
//! left.
//!
//! When the process ends, the system ends all threads but one, wherever they are: one can have the lock, and another the slim lock. The last thread
//! takes the lock over at once, and does not touch the slim lock.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use super::kernel32::{self, *};

const FREE: u32 = 0;
/// A bit that no thread's number has, because the numbers are small: they are numbers of handles.
const WAITERS: u32 = 1 << 31;

/// The longest sleep, in milliseconds.
const LONGEST: u32 = 100;

/// The lock. All its bytes are zero at first.
#[repr(C)]
pub(super) struct Lock {
    word: AtomicU32,
    /// A field that tools read beside the word. On Linux, fork sets it to 0.
    consistent: AtomicU32,
    guard: UnsafeCell<Word>,
    condition: UnsafeCell<Word>,
}

// SAFETY: only functions of the system use the two cells, and they are made for several threads.
unsafe impl Sync for Lock {}

impl Lock {
    /// Takes the lock. Returns false if the calling thread already has it.
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
            if now != FREE && is_ending() {
                expected = now; // The owner is not there any more.
                continue;
            }
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

    /// Releases the lock. The calling thread has it.
    pub(super) fn release(&self) {
        if self.word.swap(FREE, Ordering::Release) & WAITERS != 0 && !is_ending() {
            let (guard, condition) = (self.guard.get(), self.condition.get());
            // SAFETY: both cells live as long as the process. A thread that is about to sleep holds the guard until it sleeps.
            unsafe {
                kernel32::AcquireSRWLockExclusive(guard);
                kernel32::ReleaseSRWLockExclusive(guard);
                kernel32::WakeConditionVariable(condition);
            }
        }
    }

    /// Sleeps until another thread wakes this one, if the word is `marked`. Otherwise returns at once. Can also return without a reason. Returns
    /// false if the sleep took as long as [`LONGEST`].
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

/// Whether the process ends, and the calling thread is its last one.
#[cold]
fn is_ending() -> bool {
    #[cfg(test)]
    if tests::IS_LAST.get() {
        return true;
    }
    crate::platform::is_ending()
}

/// Whether this process has no thread with this number any more. False if the system does not tell.
#[cold]
fn is_gone(thread: u32) -> bool {
    let handle = kernel32::OpenThread(SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION, 0, thread);
    if handle == 0 {
        return kernel32::GetLastError() == ERROR_INVALID_PARAMETER;
    }
    // SAFETY: this function has opened the handle, and nobody else knows it.
    unsafe {
        let has_ended = kernel32::WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
        // The system gives the numbers of ended threads to new threads, also of other processes.
        let is_here = kernel32::GetProcessIdOfThread(handle) == kernel32::GetCurrentProcessId();
        kernel32::CloseHandle(handle);
        has_ended || !is_here
    }
}

#[cfg(test)]
mod tests {
    use super::{Lock, UnsafeCell, is_gone};
    use crate::platform::windows::kernel32;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    fn new() -> Lock {
        // SAFETY: zero is a valid value of all fields.
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
                            thread::yield_now(); // Other threads come and sleep meanwhile.
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

    std::thread_local! { pub(super) static IS_LAST: Cell<bool> = const { Cell::new(false) }; }

    /// One thread has the lock, another waits for it, and one has the slim lock. A thread that is the last of an ending process waits for none of
    /// them. (The test only says that the process ends, because it could not report afterwards. So the other threads exist, but do nothing.)
    #[test]
    fn the_end_of_the_process_waits_for_nobody() {
        static LOCK: Lock = Lock {
            word: AtomicU32::new(0),
            consistent: AtomicU32::new(0),
            guard: UnsafeCell::new(core::ptr::null_mut()),
            condition: UnsafeCell::new(core::ptr::null_mut()),
        };
        static NEVER: AtomicBool = AtomicBool::new(false);
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            assert!(LOCK.acquire());
            // SAFETY: the lock is a static, and nobody has the guard.
            unsafe { kernel32::AcquireSRWLockExclusive(LOCK.guard.get()) };
            thread::spawn(|| LOCK.acquire());
            while LOCK.word.load(Ordering::Relaxed) & super::WAITERS == 0 {
                thread::yield_now();
            }
            send.send(()).unwrap();
            while !NEVER.load(Ordering::Relaxed) {
                thread::park();
            }
        });
        receive.recv().unwrap();
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            IS_LAST.set(true);
            assert!(LOCK.acquire() && !LOCK.acquire());
            LOCK.word.fetch_or(super::WAITERS, Ordering::Relaxed); // As if somebody had waited for this thread.
            LOCK.release();
            send.send(LOCK.acquire()).unwrap();
        });
        assert_eq!(receive.recv_timeout(Duration::from_secs(120)), Ok(true));
    }
}
