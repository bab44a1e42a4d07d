//! A lock of one byte, whose waiters spin, or sleep (better on a machine with more threads than processors). One switch decides this for all locks of
//! the program. It can change while locks are held.
//!
//! ```text
//!   state   0 free   1 held   2 held, and somebody sleeps or will         one format for both
//!
//!   unlock, spin    mov byte ptr [lock], 0                                one instruction, in place
//!           block   lock dec byte ptr [lock]; 1 before: done; else: state := 0, wake one
//! ```
//!
//! With the feature `blocking`, there are two tables of operations: `unlock`, and the way in which a thread waits for a lock. They change one after
//! the other (`set`), because threads may sleep only while each unlock wakes sleepers.
//!
//! * *To block*: `unlock` changes first. In the old form it is one instruction in place, a store. (In an arm of a switch or in a function, a thread
//!   could stop before its store for any time.) So no thread is still about to unlock in the old form when the way to wait changes.
//! * *To spin*: first, no more threads may begin to sleep, and `set` waits until no thread sleeps. Then `unlock` changes.
//!
//! Where operations are not in place, `unlock` always wakes sleepers.

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

/// A lock's byte, and the rest of the word on which threads sleep. The rest is 0.
#[repr(C, align(4))]
#[derive(Debug, Default)]
struct Word {
    state: AtomicU8,
    zero: [u8; 3],
}

/// A value behind a lock: one thread at a time can use it.
#[derive(Debug, Default)]
pub struct Lock<T> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one thread at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock that is free.
    pub const fn new(value: T) -> Lock<T> {
        Lock { word: Word { state: AtomicU8::new(FREE), zero: [0; 3] }, value: UnsafeCell::new(value) }
    }

    /// Waits until the lock is free, and takes it. A thread that holds this lock must call neither this nor `set`.
    pub fn lock(&self) -> Guard<'_, T> {
        if self.word.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            slow(&self.word);
        }
        Guard(self, PhantomData)
    }
}

/// Gives access to the value of a lock, which stays locked until this is dropped.
#[derive(Debug)]
pub struct Guard<'a, T>(&'a Lock<T>, PhantomData<&'a mut T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock, so no other thread has the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock, so no other thread has the value.
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

/// Takes the lock: tries until it is free.
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
