//! Sleeping on a word, and waking. What [`lock`](super::lock) is built from; a model check puts its own in its place.

pub(super) use core::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{self, Flags};

/// Sleeps while `word` is `expected`, or not at all; may also return for no reason.
pub(super) fn wait(word: &AtomicU32, expected: u32) {
    let _ = futex::wait(word, Flags::PRIVATE, expected, None);
}

/// Wakes one thread that sleeps on `word`.
pub(super) fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, 1);
}
