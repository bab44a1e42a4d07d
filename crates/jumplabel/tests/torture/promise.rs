//! The flipper's promise to the readers about one key: a word that says that the key is on, is off, or is being flipped.
//!
//! ```text
//!   flipper    withdraw, flip, give(on)            a number that never comes back, so that a reader notices any change
//!   reader     a = read, execute sites, b = read   a == b and a promise: every site must have taken that arm
//! ```
//!
//! A promise applies if the reader began after the flip had returned, and no other flip had begun when the reader ended. If Linux has no core sync,
//! so that a flip is visible in the end only, a reader that serialises after it has read sees the flip.

use std::sync::atomic::{AtomicU64, Ordering};

use jumplabel::arch::{Act, Machine, Native};

/// Whether Linux has core sync: a membarrier that makes threads serialise.
pub const CORE_SYNC: bool = !cfg!(any(target_arch = "s390x", target_arch = "loongarch64"));

const NONE: u64 = 2;
const MASK: u64 = 3;

/// The word.
pub struct Promise(AtomicU64);

impl Promise {
    /// Off, as keys start.
    pub const fn new() -> Promise {
        Promise(AtomicU64::new(0))
    }

    /// The key is about to be flipped.
    pub fn withdraw(&self) {
        let next = (self.0.load(Ordering::Relaxed) | MASK) + 1;
        self.0.store(next | NONE, Ordering::SeqCst);
    }

    /// The key has been flipped: every check that starts from now on must yield `on`.
    pub fn give(&self, on: bool) {
        let next = (self.0.load(Ordering::Relaxed) | MASK) + 1;
        self.0.store(next | u64::from(on), Ordering::SeqCst);
    }

    /// The word as it is now.
    pub fn read(&self) -> u64 {
        let word = self.0.load(Ordering::SeqCst);
        serialise();
        word
    }

    /// The promise in a word. `None` if there is none now.
    pub fn meaning(word: u64) -> Option<bool> {
        (word & NONE == 0).then_some(word & 1 != 0)
    }
}

/// Makes this thread see all flips that have returned, if flips do not do that themselves.
pub fn serialise() {
    if !CORE_SYNC {
        // SAFETY: nothing changes but what was fetched ahead.
        unsafe { Native::act(Act::Serialise) };
    }
}
