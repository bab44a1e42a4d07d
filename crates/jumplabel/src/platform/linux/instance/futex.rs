//! Functions to sleep on a word and to wake a sleeping thread, and functions that tell the calling thread's number and whether a thread has ended.
//! [`mutex`](super::mutex) uses only the functions to sleep and to wake; the model check of `mutex` replaces these two by its own.

pub(super) use core::sync::atomic::{AtomicU32, Ordering};

use core::num::NonZeroU32;

use crate::platform::linux::libc;
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

/// The longest sleep, in milliseconds.
pub(super) const LONGEST: u32 = 100;

/// Sleeps until another thread wakes this one, but at most [`LONGEST`] milliseconds. Returns false if nothing woke the thread in that time, otherwise
/// true. If `word` is not `expected`, returns true at once. Can also return true for no reason.
///
/// A signal handler does not end the sleep. If it did, a timer that sends a signal more often than every [`LONGEST`] milliseconds would let no sleep
/// last the full time, and the thread would never look at the owner.
#[cold]
#[inline(never)] // Not inlined: most flips find the lock free.
pub(super) fn wait(word: &AtomicU32, expected: u32) -> bool {
    const SECOND: u32 = 1_000_000_000;
    let now = libc::now();
    let nanoseconds = now.subsec_nanos() + LONGEST * 1_000_000;
    let seconds = now.as_secs() + u64::from(nanoseconds >= SECOND);
    let until = Timespec { tv_sec: seconds as _, tv_nsec: (nanoseconds % SECOND) as _ };
    loop {
        match futex::wait_bitset(word, Flags::PRIVATE, expected, Some(&until), NonZeroU32::MAX) {
            Err(Errno::INTR) => {}
            result => return result != Err(Errno::TIMEDOUT),
        }
    }
}

/// The number of the calling thread. If a seccomp filter refuses `gettid`, uses a second way, [`owner_of_a_lock`]. `None` if the system refuses that,
/// too.
pub(super) fn this_thread() -> Option<NonZeroU32> {
    libc::gettid().or_else(owner_of_a_lock)
}

/// The number of the calling thread, found in another way: the thread takes a free lock with priority inheritance, and the system writes the owner's
/// number into it (futex(2), `FUTEX_LOCK_PI`). The system keeps no data of a lock without waiters.
#[cold]
fn owner_of_a_lock() -> Option<NonZeroU32> {
    let lock = AtomicU32::new(0);
    try_lock(&lock).ok()?;
    NonZeroU32::new(lock.load(Ordering::Relaxed))
}

/// Whether a thread does not exist, or has ended. A zombie has ended: it is the first thread of a process whose other threads continue, or a child
/// that was not waited for. `None` if the system does not answer.
pub(super) fn has_ended(thread: u32) -> Option<bool> {
    match wait_for_owner(thread) {
        // Under an emulator, the program and the system can have different byte orders, and the system then reads a wrong number. To notice that,
        // this also asks about the calling thread, which exists: such a system does not find it.
        Err(Errno::SRCH) if wait_for_owner(this_thread()?.get()) == Err(Errno::DEADLK) => Some(true),
        Err(Errno::TIMEDOUT) => Some(false),
        _ => None,
    }
}

/// Asks the system whether `thread` exists. To do that, this tries to take a lock with priority inheritance whose word says that `thread` owns it
/// (futex(2), `FUTEX_LOCK_PI`), and does not wait. The error is `ETIMEDOUT` if `thread` exists, `ESRCH` if it does not exist or has ended, and
/// `EDEADLK` if it is the calling thread.
fn wait_for_owner(thread: u32) -> Result<(), Errno> {
    try_lock(&AtomicU32::new(thread))
}

/// Tries to take a lock with priority inheritance. Does not wait, because the time limit lies in the past.
#[inline(never)]
fn try_lock(lock: &AtomicU32) -> Result<(), Errno> {
    let past = Timespec { tv_sec: 0, tv_nsec: 0 };
    futex::lock_pi(lock, Flags::PRIVATE, Some(&past))
}

/// Wakes one thread that sleeps on `word`.
pub(super) fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, 1);
}

#[cfg(test)]
mod tests {
    use super::{Errno, has_ended, owner_of_a_lock, wait_for_owner};
    use std::println;
    use std::sync::mpsc::channel;

    #[test]
    fn threads_that_live_and_one_that_has_ended() {
        let this_one = || super::this_thread().unwrap().get();
        if wait_for_owner(this_one()) != Err(Errno::DEADLK) {
            return println!(
                "skipped: the system has no such locks, or an emulator swaps the bytes of the owner's number"
            );
        }
        assert_eq!(owner_of_a_lock(), super::this_thread());
        let (send, receive) = channel();
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(this_one()).unwrap();
            let _ = ended.recv();
        });
        let other = receive.recv().unwrap();
        assert_eq!(has_ended(other), Some(false));
        assert_ne!(has_ended(1), Some(true), "the first process");
        drop(end);
        thread.join().unwrap();
        while has_ended(other) != Some(true) {
            std::thread::yield_now(); // `join` can return before the system has ended the thread.
        }
    }
}
