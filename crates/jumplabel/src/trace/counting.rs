//! Counts readers, the threads that may use a list of probes. There are two counts, and new readers use them in turn.
//!
//! ```text
//!   word    generation (32 bits) │ count (32 bits)       In the child after a fork, the word is 0, because the system wipes it.
//! ```
//!
//! A reader first counts itself, and then loads the list. A thread that has replaced a list reads the two counts until each of them was 0 at some
//! moment. Then no reader is in the old list any more. If new readers always used the same word, they could keep its count above 0 for ever.
//!
//! A child of `fork`, or of a raw `clone`, has one thread. If this thread was a reader when the process was forked, it was counted in an earlier
//! generation, so it does not count itself off in the child.
//!
//! This file allocates nothing and does not know what a thread is, so the model check can run its code unchanged.

use super::atomic::{AtomicU64, AtomicUsize, Ordering};

const GENERATION_SHIFT: u32 = 32;

/// A count of threads, and its generation. Each word has a cache line of its own.
#[repr(C, align(64))]
pub struct Word(pub(super) AtomicU64);

/// The two words in which readers are counted. If all bytes are zero, there is no reader.
#[repr(C)]
pub struct Readers {
    pub(super) words: [Word; 2],
    /// The number of the word that new readers use.
    pub(super) turn: AtomicUsize,
}

/// The result of [`Readers::empty`] if both counts are 0. It has a bit for each word.
pub const BOTH: u8 = 3;

impl Word {
    /// Counts a reader in, and returns the generation of the count. A word that is 0 was never used, or was wiped by a fork: it gets a new generation
    /// from `new_generation`.
    ///
    /// One atomic instruction both counts the reader and reads the generation, because the process may be forked between any two instructions.
    #[inline(always)]
    pub fn count_in(&self, new_generation: impl Fn() -> u32) -> u64 {
        let mut held = self.0.load(Ordering::Relaxed);
        loop {
            let new = 1 + if held == 0 { u64::from(new_generation()) << GENERATION_SHIFT } else { held };
            match self.0.compare_exchange_weak(held, new, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return new >> GENERATION_SHIFT,
                Err(now) => held = now,
            }
        }
    }

    /// Counts a reader off that was counted in this generation. Does nothing if the word has another generation, because then the word does not count
    /// the reader.
    #[inline(always)]
    pub fn count_off(&self, generation: u64) {
        let mut held = self.0.load(Ordering::Relaxed);
        while held >> GENERATION_SHIFT == generation {
            match self.0.compare_exchange_weak(held, held - 1, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => held = now,
            }
        }
    }

    /// Whether the count is 0, so that no reader is counted in this word.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst) & ((1 << GENERATION_SHIFT) - 1) == 0
    }
}

impl Readers {
    /// The word in which the next reader is counted.
    pub fn word(&self) -> &Word {
        &self.words[self.turn.load(Ordering::Relaxed) & 1]
    }

    /// The words whose count is 0 now: a bit for each. If the word that new readers do not use is one of them, new readers use it from now on. Called
    /// under the lock.
    pub fn empty(&self) -> u8 {
        let [first, second] = self.words.each_ref().map(Word::is_empty);
        let turn = self.turn.load(Ordering::Relaxed) & 1;
        if [second, first][turn] {
            self.turn.store(turn ^ 1, Ordering::Relaxed);
        }
        u8::from(first) | u8::from(second) << 1
    }
}
