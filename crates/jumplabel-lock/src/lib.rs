//! A lock of one byte. A thread that waits for a lock spins or sleeps; to sleep is better on a machine with more threads than processors. One switch,
//! `set`, decides that for all locks of the program. It can change while locks are held.
//!
//! ```text
//!   state   0 free   1 held   2 held, and a thread sleeps or is about to     the same states for both ways to wait
//!
//!   unlock, spin    mov byte ptr [lock], 0                                   one instruction, in place
//!           block   lock dec byte ptr [lock]; if it was 1: done; otherwise: state := 0, wake one
//! ```
//!
//! With the feature `blocking`, there are two tables of operations: how a thread unlocks (`UNLOCK`), and how it waits (`SLOW`). Threads may sleep
//! only while each unlock wakes sleepers. So `set` changes the tables one after the other:
//!
//! * *From spin to block*, `UNLOCK` changes first. The old unlock is a store, one instruction in place. So after the change, no thread executes the
//!   old store any more, and `SLOW` can change. (If the store were in a function or in an arm of a switch, a thread could be stopped in front of it.)
//! * *From block to spin*, `set` first lets no more threads sleep, and waits until no thread sleeps. Then it changes `UNLOCK`.
//!
//! On instruction sets without operations in place, both ways to unlock are the same function, which wakes a thread if one sleeps.

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

/// A lock's byte, in the word of four bytes on which threads sleep. The other bytes are 0.
#[repr(C, align(4))]
#[derive(Debug, Default)]
struct Word {
    state: AtomicU8,
    zero: [u8; 3],
}

/// A lock, with the value that it protects: one thread at a time can use the value.
#[derive(Debug, Default)]
pub struct Lock<T> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: the value can be reached only through a guard, and the lock lets one guard exist at a time. `T: Send` lets the value change threads.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock that is free.
    pub const fn new(value: T) -> Lock<T> {
        Lock { word: Word { state: AtomicU8::new(FREE), zero: [0; 3] }, value: UnsafeCell::new(value) }
    }

    /// Waits until the lock is free, and takes it. A thread that holds this lock must call neither this function nor `set`.
    pub fn lock(&self) -> Guard<'_, T> {
        if self.word.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            slow(&self.word);
        }
        Guard(self, PhantomData)
    }
}

/// Gives access to the value of a lock. The lock is held until the guard is dropped.
#[derive(Debug)]
pub struct Guard<'a, T>(&'a Lock<T>, PhantomData<&'a mut T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock, so no other thread can reach the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock, so no other thread can reach the value.
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

/// Takes the lock: tries again and again until the lock is free.
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
