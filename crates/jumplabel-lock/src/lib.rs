//! A lock of one byte whose waiters spin, or, on a machine with more threads than processors, sleep. Which of them, is one switch for all
//! locks of the program, changed while locks are held.
//!
//! ```text
//!   state   0 free   1 held   2 held, and somebody sleeps or will         one format for both
//!
//!   unlock, spin    mov byte ptr [lock], 0                                one instruction, in place
//!           block   lock dec byte ptr [lock]; 1 before: done; else: state := 0, wake one
//! ```
//!
//! With the feature `blocking`, a table of operations has `unlock`, and another one what a thread does that finds the lock held. They change
//! one after the other (`set`): nobody may sleep unless each unlock looks for sleepers.
//!
//! * *To block*: first `unlock`. It is in place, one instruction: behind `set` no thread is between its site and its store, as it could be in
//!   the arm of a switch or in a function. Then the slow way.
//! * *To spin*: first nobody begins to sleep any more, and those who sleep are waited for. Then `unlock`.
//!
//! Where operations are not in place, `unlock` looks for sleepers in both.

#[cfg(feature = "blocking")]
mod blocking;

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU8, Ordering};

#[cfg(feature = "blocking")]
pub use blocking::{Refused, Slow, Unlock, query, set, set_from_environment, set_in_the_wrong_order};

const FREE: u8 = 0;
const HELD: u8 = 1;

/// The byte, and the rest of the word that a thread sleeps on, which is 0.
#[repr(C, align(4))]
#[derive(Debug, Default)]
struct Word {
    state: AtomicU8,
    zero: [u8; 3],
}

/// A value that one thread has at a time.
#[derive(Debug, Default)]
pub struct Lock<T> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: one thread has the value at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock that is free.
    pub const fn new(value: T) -> Lock<T> {
        Lock { word: Word { state: AtomicU8::new(FREE), zero: [0; 3] }, value: UnsafeCell::new(value) }
    }

    /// Waits until it is free, and takes it. Not for a thread that holds it, nor for one that calls `set` while it holds it.
    pub fn lock(&self) -> Guard<'_, T> {
        if self.word.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            slow(&self.word);
        }
        Guard(self, PhantomData)
    }
}

/// The value of a lock that is held.
#[derive(Debug)]
pub struct Guard<'a, T>(&'a Lock<T>, PhantomData<&'a mut T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        unlock(&self.0.word);
    }
}

#[cfg(feature = "blocking")]
use blocking::{slow, unlock};

#[cfg(not(feature = "blocking"))]
fn slow(word: &Word) {
    spin(word);
}

#[cfg(not(feature = "blocking"))]
#[inline(always)]
fn unlock(word: &Word) {
    word.state.store(FREE, Ordering::Release);
}

/// Takes it by trying.
fn spin(word: &Word) {
    loop {
        if word.state.load(Ordering::Relaxed) == FREE
            && word.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            return;
        }
        std::hint::spin_loop();
    }
}
