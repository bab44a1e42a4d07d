//! Who is in the probes of a list, and who frees lists: counters, each with the generation of the process that counts.
//!
//! ```text
//!   word    generation (32) │ count (32)       0 in a process that was copied: the system wipes the words there
//!   words   two for readers, of which new ones take the one whose turn it is; one for those who free
//! ```
//!
//! A reader counts itself and then loads a list. Whoever has taken a list away and then sees each of the readers' words at 0 once knows
//! that nobody is in that list any more. The words take turns, so that readers who come cannot keep both from being 0.
//!
//! A child of fork, and of a raw `clone`, has one thread. If that was in a probe, it has counted itself in another generation, and
//! does not count itself off.

use core::cell::Cell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::error::Error;
use crate::text;

const GENERATION_SHIFT: u32 = 32;

/// On a line of its own.
#[repr(C, align(64))]
struct Word(AtomicU64);

#[repr(C)]
struct Words {
    readers: [Word; 2],
    freeing: Word,
    /// Which of the readers' words new ones take.
    turn: AtomicUsize,
}

/// Bits of both words of readers.
pub(super) const BOTH: u8 = 3;

/// Made before the first list, and there for good.
static WORDS: AtomicPtr<Words> = AtomicPtr::new(null_mut());

/// Copied with the process: a child's next one is no ancestor's.
static GENERATION: AtomicU32 = AtomicU32::new(0);

std::thread_local! { static DEPTH: Cell<u32> = const { Cell::new(0) }; }

/// This thread is counted. Not to be sent to another.
pub struct Inside {
    word: &'static AtomicU64,
    generation: u64,
    here: core::marker::PhantomData<*const ()>,
}

fn words() -> Option<&'static Words> {
    // SAFETY: null, or from `make`; zeroes are valid.
    unsafe { WORDS.load(Ordering::Acquire).as_ref() }
}

/// Makes the words, if they are not there.
pub(super) fn make() -> Result<(), Error> {
    if words().is_some() {
        return Ok(());
    }
    let text = text::text();
    let new = text.allocate_wiped(size_of::<Words>()).ok_or(Error::OutOfMemory)?;
    if WORDS.compare_exchange(null_mut(), new.as_ptr().cast(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: made above, and nobody has seen it.
        unsafe { text.release(new, size_of::<Words>()) };
    }
    Ok(())
}

/// Counts this thread as a reader. `None` if there has never been a list.
#[must_use]
pub fn enter() -> Option<Inside> {
    let words = words()?;
    Some(Inside::of(&words.readers[words.turn.load(Ordering::Relaxed) & 1].0))
}

/// Counts this thread as one that frees.
pub(super) fn free() -> Option<Inside> {
    words().map(|words| Inside::of(&words.freeing.0))
}

/// Whether this thread is counted.
pub(super) fn is_inside() -> bool {
    DEPTH.get() != 0
}

/// A twin that is broken: it says that nobody is in a list.
#[cfg(test)]
pub(super) static FREES_AT_ONCE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// Which of the readers' words are 0 now. If the one that nobody takes is, it has its turn.
pub(super) fn empty() -> u8 {
    #[cfg(test)]
    if FREES_AT_ONCE.load(Ordering::Relaxed) {
        return BOTH;
    }
    let Some(words) = words() else { return BOTH };
    let [first, second] = [0, 1].map(|at| count(words.readers[at].0.load(Ordering::SeqCst)) == 0);
    let turn = words.turn.load(Ordering::Relaxed) & 1;
    if [second, first][turn] {
        words.turn.store(turn ^ 1, Ordering::Relaxed);
    }
    u8::from(first) | u8::from(second) << 1
}

/// Whether anybody frees.
pub(super) fn is_freeing() -> bool {
    words().is_some_and(|words| count(words.freeing.0.load(Ordering::SeqCst)) != 0)
}

const fn count(word: u64) -> u64 {
    word & ((1 << GENERATION_SHIFT) - 1)
}

fn new_generation() -> u64 {
    u64::from(GENERATION.fetch_add(1, Ordering::Relaxed) + 1) << GENERATION_SHIFT
}

impl Inside {
    /// In two words, for C.
    #[must_use]
    pub fn into_raw(self) -> (*const AtomicU64, u64) {
        let inside = core::mem::ManuallyDrop::new(self);
        (core::ptr::from_ref(inside.word), inside.generation)
    }

    /// Of the words. `None` if the first is null.
    ///
    /// # Safety
    /// From [`into_raw`](Self::into_raw) on this thread, and once for each, or null.
    #[must_use]
    pub unsafe fn from_raw(word: *const AtomicU64, generation: u64) -> Option<Inside> {
        // SAFETY: by the contract; the words are never freed.
        unsafe { word.as_ref() }.map(|word| Inside { word, generation, here: core::marker::PhantomData })
    }

    /// One instruction counts and looks at the generation: a process may be copied anywhere else.
    fn of(word: &'static AtomicU64) -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        let mut held = word.load(Ordering::Relaxed);
        loop {
            let new = 1 + if held == 0 { new_generation() } else { held };
            match word.compare_exchange_weak(held, new, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => {
                    let generation = new >> GENERATION_SHIFT;
                    return Inside { word, generation, here: core::marker::PhantomData };
                }
                Err(now) => held = now,
            }
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut held = self.word.load(Ordering::Relaxed);
        while held >> GENERATION_SHIFT == self.generation {
            match self.word.compare_exchange_weak(held, held - 1, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => held = now,
            }
        }
        DEPTH.set(DEPTH.get() - 1);
    }
}
