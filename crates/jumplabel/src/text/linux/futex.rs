//! Sleeping on a word, and waking. [`mutex`](super::mutex) is built from these; the model check puts its own in their place.

pub(super) use core::sync::atomic::{AtomicU32, Ordering};

use core::num::NonZeroU32;

use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

use super::libc;

/// The longest sleep, in milliseconds.
pub(super) const LONGEST: u32 = 100;

/// Sleeps while `word` is `expected`, or not at all; may also return for no reason. False if nobody woke it for [`LONGEST`].
///
/// A signal's handler does not end the sleep: if it did, and a timer sent signals faster than that, no sleep would ever last that long.
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

/// Whether the system says that a thread has ended, or does not exist: it is asked to wait, for no time at all, for a lock with priority
/// inheritance that the thread owns (futex(2), `FUTEX_LOCK_PI`). The system looks for the thread, and refuses with `ESRCH` if it does not
/// find it. A thread that stays as a zombie has ended, too: the first one of a process with others, and a child that nobody has waited for.
pub(super) fn has_ended(thread: u32) -> bool {
    let owned = AtomicU32::new(thread);
    let past = Timespec { tv_sec: 0, tv_nsec: 0 };
    futex::lock_pi(&owned, Flags::PRIVATE, Some(&past)) == Err(Errno::SRCH)
}

/// Wakes one thread that sleeps on `word`.
pub(super) fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, 1);
}

#[cfg(test)]
mod tests {
    use super::has_ended;
    use std::sync::mpsc::channel;

    /// qemu-user does not have such locks.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn threads_that_live_and_one_that_has_ended() {
        let this_one = || rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let (send, receive) = channel();
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(this_one()).unwrap();
            let _ = ended.recv();
        });
        let other = receive.recv().unwrap();
        assert!(!has_ended(other) && !has_ended(this_one()) && !has_ended(1));
        drop(end);
        thread.join().unwrap();
        while !has_ended(other) {
            std::thread::yield_now(); // Who joins it may be faster than its end.
        }
    }
}
