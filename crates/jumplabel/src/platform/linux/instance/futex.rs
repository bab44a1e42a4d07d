//! Functions that sleep on a word, and wake a thread that sleeps. [`mutex`](super::mutex) uses them; the model check replaces them by its own
//! functions.

pub(super) use core::sync::atomic::{AtomicU32, Ordering};

use core::num::NonZeroU32;

use crate::platform::linux::libc;
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

/// The longest sleep, in milliseconds.
pub(super) const LONGEST: u32 = 100;

/// If `word` is not `expected`, returns at once. Otherwise sleeps until another thread wakes this one. Can also return for no reason. Returns
/// false if the sleep took as long as [`LONGEST`] and nothing woke the thread.
///
/// A signal handler does not end the sleep. Otherwise, if a timer sent signals at intervals shorter than [`LONGEST`], no sleep would ever last
/// that long.
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

/// The number of the calling thread. If a filter refuses `gettid`, the thread takes a free lock with priority inheritance: the system writes the
/// owner's number into it (futex(2), `FUTEX_LOCK_PI`), and keeps no data of a lock without waiters. `None` if a filter refuses that, too.
pub(super) fn this_thread() -> Option<NonZeroU32> {
    libc::gettid().or_else(owner_of_a_lock)
}

#[cold]
fn owner_of_a_lock() -> Option<NonZeroU32> {
    let lock = AtomicU32::new(0);
    try_lock(&lock).ok()?;
    NonZeroU32::new(lock.load(Ordering::Relaxed))
}

/// Whether a thread has ended or does not exist. `None` if the system does not say. A zombie counts as ended. (Zombies are the first thread of a
/// process whose other threads continue, and a child that was not waited for.)
pub(super) fn has_ended(thread: u32) -> Option<bool> {
    match wait_for_owner(thread) {
        // An emulated program can have another byte order than the system. The system then reads the number of a wrong thread. To notice that, the
        // code also asks about the calling thread: under such an emulator, the system does not find the calling thread.
        Err(Errno::SRCH) if wait_for_owner(this_thread()?.get()) == Err(Errno::DEADLK) => Some(true),
        Err(Errno::TIMEDOUT) => Some(false),
        _ => None,
    }
}

/// Asks the system about `thread`. Tries to take a lock with priority inheritance that `thread` owns, and does not wait (futex(2),
/// `FUTEX_LOCK_PI`). The system refuses with `ETIMEDOUT` if `thread` exists. It refuses with `ESRCH` if it does not find `thread`, or if
/// `thread` has ended. It refuses with `EDEADLK` if `thread` is the calling thread.
fn wait_for_owner(thread: u32) -> Result<(), Errno> {
    try_lock(&AtomicU32::new(thread))
}

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
