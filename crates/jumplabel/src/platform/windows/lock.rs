//! The process-wide lock: a word that contains the number of the owner's thread, and a condition variable on which waiting threads sleep.
//!
//! ```text
//!   0               free
//!   number          a thread has it
//!   ... | WAITERS   in addition, another thread possibly sleeps
//! ```
//!
//! Windows has no signals, so the owner can try to take the lock again only if an exception happens in the patcher itself. The lock then recognises
//! the owner's number, and refuses. The system's slim lock (`SRWLOCK`) could not be the process-wide lock: in such a case the owner would wait for
//! itself, and an owner that was ended (`TerminateThread`) would keep the slim lock for ever. So a slim lock guards only the few instructions before
//! a thread sleeps. No sleep lasts longer than [`LONGEST`] milliseconds. If nobody has woken a thread by then, the thread checks whether the owner
//! still exists. If not, the thread takes the lock over, and finishes or undoes the owner's transaction.
//!
//! `WaitOnAddress` would sleep without a slim lock. Windows 7 does not have it, and programs would have to link another library than kernel32.
//!
//! When the process ends, the system first ends all threads except one. One of the ended threads may have had the lock, and another one the slim
//! lock. So the last thread takes the lock over at once, and does not use the slim lock.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use super::kernel32::{self, *};

const FREE: u32 = 0;
/// The bit that is set if a thread may be waiting. No thread's number has this bit, because Windows numbers threads like handles, from small numbers
/// on.
const WAITERS: u32 = 1 << 31;

/// The longest sleep, in milliseconds.
const LONGEST: u32 = 100;

/// The lock. A lock whose bytes are all zero is free.
#[repr(C)]
pub(super) struct Lock {
    word: AtomicU32,
    /// A word that tools expect after the first one (`format::process`). This platform does not use it, because Windows has no fork.
    consistent: AtomicU32,
    guard: UnsafeCell<Word>,
    condition: UnsafeCell<Word>,
}

// SAFETY: only functions of the system access the two cells, and the system allows them to be called from several threads at once.
unsafe impl Sync for Lock {}

impl Lock {
    /// Takes the lock. Returns false if the calling thread already has it.
    pub(super) fn acquire(&self) -> bool {
        let me = kernel32::GetCurrentThreadId();
        // `mine` is the word that this thread stores when it takes the lock. After a sleep, it contains `WAITERS`, because other threads may still
        // sleep.
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
                expected = now; // The owner does not exist any more.
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

    /// Releases the lock, which the calling thread has, and wakes a waiting thread.
    pub(super) fn release(&self) {
        if self.word.swap(FREE, Ordering::Release) & WAITERS != 0 && !is_ending() {
            let (guard, condition) = (self.guard.get(), self.condition.get());
            // SAFETY: both cells live as long as the process, and this thread does not hold the guard.
            //
            // A thread that is about to sleep holds the guard from its look at the word until it sleeps. So once this thread has had the guard, such
            // a thread has seen the free word, or sleeps and can be woken.
            unsafe {
                kernel32::AcquireSRWLockExclusive(guard);
                kernel32::ReleaseSRWLockExclusive(guard);
                kernel32::WakeConditionVariable(condition);
            }
        }
    }

    /// Sleeps until another thread wakes this one, but at most [`LONGEST`] milliseconds. Returns false if nothing woke the thread in that time,
    /// otherwise true. If the word is not `marked`, returns true at once. Can also return true for no reason.
    #[cold]
    fn sleep(&self, marked: u32) -> bool {
        let (guard, condition) = (self.guard.get(), self.condition.get());
        // SAFETY: both cells live as long as the process, and this thread does not hold the guard before the first call.
        unsafe {
            kernel32::AcquireSRWLockExclusive(guard);
            let woken = self.word.load(Ordering::Relaxed) != marked
                || kernel32::SleepConditionVariableSRW(condition, guard, LONGEST, 0) != 0;
            kernel32::ReleaseSRWLockExclusive(guard);
            woken
        }
    }
}

/// Whether the process is ending, so that the calling thread is its last one.
#[cold]
fn is_ending() -> bool {
    #[cfg(test)]
    if tests::IS_LAST.get() {
        return true;
    }
    crate::platform::is_ending()
}

/// Whether this process has no thread with this number any more. False if the system does not answer.
#[cold]
fn is_gone(thread: u32) -> bool {
    let handle = kernel32::OpenThread(SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION, 0, thread);
    if handle == 0 {
        return kernel32::GetLastError() == ERROR_INVALID_PARAMETER;
    }
    // SAFETY: this function has opened the handle, closes it once, and passes it to nobody else.
    unsafe {
        let has_ended = kernel32::WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
        // The system gives the number of an ended thread to a new thread, which can belong to another process.
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
                            thread::yield_now(); // Lets the other threads find the lock taken, and sleep.
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

    /// One thread has the lock and the slim lock, and another one waits for them. The last thread of an ending process must not wait for these
    /// threads. (The test only pretends that the process is ending, because it could not report a result afterwards. So the other threads still
    /// exist, but do nothing.)
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
            // SAFETY: the lock is a static, and no thread holds the guard yet.
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
            LOCK.word.fetch_or(super::WAITERS, Ordering::Relaxed); // Pretends that a thread waits for this one.
            LOCK.release();
            send.send(LOCK.acquire()).unwrap();
        });
        assert_eq!(receive.recv_timeout(Duration::from_secs(120)), Ok(true));
    }
}
