//! Counts readers in two words; new readers take the word whose turn it is.
//!
//! ```text
//!   word    generation (32 bits) │ count (32 bits)       0 after a fork in the child: the system wipes the words there
//! ```
//!
//! A reader first counts itself, and then loads a list. A thread that has taken a list away reads the two counts until it has seen each of them at
//! 0 once. Then no reader is in that list any more. New readers take the two words in turn. Otherwise they could keep both counts above 0 for ever.
//!
//! A child of `fork`, or of a raw `clone`, has one thread. If that thread was in a probe when the process was forked, it was counted in an earlier
//! generation. So it does not count itself off in the child.
//!
//! This file allocates nothing and knows nothing of threads, so the model check can run its code unchanged.

use super::atomic::{AtomicU64, AtomicUsize, Ordering};

const GENERATION_SHIFT: u32 = 32;

/// The number of readers that are inside, and their generation. Each word has a cache line of its own.
#[repr(C, align(64))]
pub struct Word(pub(super) AtomicU64);

/// The two words of readers. All zeros are a valid value: no reader is inside.
#[repr(C)]
pub struct Readers {
    pub(super) words: [Word; 2],
    /// The number of the word that new readers take.
    pub(super) turn: AtomicUsize,
}

/// The result of [`Readers::empty`] if both counts are 0: a bit for each word.
pub const BOTH: u8 = 3;

impl Word {
    /// Counts one reader in, and returns the generation in which the reader is counted. If the word is 0, this is a new generation, which
    /// `new_generation` gives.
    ///
    /// One instruction both counts the reader and reads the generation, because a process may be forked between any two instructions.
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

    /// Counts off one reader that was counted in this generation.
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

    /// Whether the count is 0: no reader that took this word is inside.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst) & ((1 << GENERATION_SHIFT) - 1) == 0
    }
}

impl Readers {
    /// The word that a new reader takes.
    pub fn word(&self) -> &Word {
        &self.words[self.turn.load(Ordering::Relaxed) & 1]
    }

    /// The words that have a count of 0 now: a bit for each. If the word that new readers do not take has a count of 0, new readers take it from
    /// now on. Called under the lock.
    pub fn empty(&self) -> u8 {
        let [first, second] = self.words.each_ref().map(Word::is_empty);
        let turn = self.turn.load(Ordering::Relaxed) & 1;
        if [second, first][turn] {
            self.turn.store(turn ^ 1, Ordering::Relaxed);
        }
        u8::from(first) | u8::from(second) << 1
    }
}
