//! Counts readers in two words; new readers take the word whose turn it is.
//!
//! ```text
//!   word    generation (32) │ count (32)       0 in a process that was forked: the system wipes the words there
//! ```
//!
//! A reader counts itself and then loads a list. Whoever has taken a list away and then sees each of the readers' words at 0 once knows
//! that nobody is in that list any more. The words take turns, so that readers who come cannot keep both from being 0.
//!
//! A child of fork, and of a raw `clone`, has one thread. If that thread was in a probe, it was counted in an earlier generation,
//! so it does not count itself off.
//!
//! Nothing here allocates or knows of threads, so the model check can run it as it is.

use super::atomic::{AtomicU64, AtomicUsize, Ordering};

const GENERATION_SHIFT: u32 = 32;

/// How many readers are inside, in a word on a cache line of its own.
#[repr(C, align(64))]
pub struct Word(pub(super) AtomicU64);

/// The words of readers. Zeroes are valid: nobody is inside.
#[repr(C)]
pub struct Readers {
    pub(super) words: [Word; 2],
    /// Which of them new readers take.
    pub(super) turn: AtomicUsize,
}

/// Bits of both words.
pub const BOTH: u8 = 3;

impl Word {
    /// Counts one in, and returns the generation in which it is counted. If nobody is inside, that is a new one, from
    /// `new_generation`.
    ///
    /// One instruction counts and looks at the generation: a process may be forked anywhere else.
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

    /// Counts off one that was counted in this generation.
    pub fn count_off(&self, generation: u64) {
        let mut held = self.0.load(Ordering::Relaxed);
        while held >> GENERATION_SHIFT == generation {
            match self.0.compare_exchange_weak(held, held - 1, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => held = now,
            }
        }
    }

    /// Whether nobody is inside.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst) & ((1 << GENERATION_SHIFT) - 1) == 0
    }
}

impl Readers {
    /// The word for a reader who comes now.
    pub fn word(&self) -> &Word {
        &self.words[self.turn.load(Ordering::Relaxed) & 1]
    }

    /// Under the lock: which of the words are 0 now. If the one that new readers do not take is 0, it has its turn from
    /// now on.
    pub fn empty(&self) -> u8 {
        let [first, second] = self.words.each_ref().map(Word::is_empty);
        let turn = self.turn.load(Ordering::Relaxed) & 1;
        if [second, first][turn] {
            self.turn.store(turn ^ 1, Ordering::Relaxed);
        }
        u8::from(first) | u8::from(second) << 1
    }
}
