//! Sleeping on a word, and waking. [`lock`](super::lock) is built from these; the model check puts its own in their place.

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

/// Wakes one thread that sleeps on `word`.
pub(super) fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, 1);
}
