//! Sleeping on a word, and waking. What [`lock`](super::lock) is built from; a model check puts its own in its place.

pub(super) use core::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::Timespec;
use rustix::thread::futex::{self, Flags};

/// The longest sleep, in milliseconds.
pub(super) const LONGEST: u32 = 100;

/// Sleeps while `word` is `expected`, or not at all; may also return for no reason. False if it slept for [`LONGEST`] in vain.
pub(super) fn wait(word: &AtomicU32, expected: u32) -> bool {
    let limit = Timespec { tv_sec: 0, tv_nsec: (LONGEST * 1_000_000) as _ };
    futex::wait(word, Flags::PRIVATE, expected, Some(&limit)) != Err(rustix::io::Errno::TIMEDOUT)
}

/// Wakes one thread that sleeps on `word`.
pub(super) fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, 1);
}
