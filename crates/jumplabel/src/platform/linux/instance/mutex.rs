//! The process-wide lock: a futex word that names its owner.
//!
//! ```text
//!   0               free
//!   tid             a thread has it
//!   tid | FORKING   a thread has it, and is about to fork
//!   ... | WAITERS   in addition, another thread possibly sleeps
//! ```
//!
//! The owner blocks all its signals, so no handler can interrupt a thread that has the lock. A thread that waits blocks signals only for
//! each try, and sleeps with the mask that it had before. If the system refuses to block signals, a flip does not get the lock. Work that
//! must be done (an object is unloaded, the process forks) takes the lock all the same. The owner can try to take the lock again in another
//! way than by a signal (a fault in the patcher, an atfork handler after ours). Then the lock recognises its number, and refuses.
//!
//! No sleep is for ever. If nobody wakes the waiter for some time, it judges the owner. It can take the lock over in two cases: if the
//! owner does not exist any more, and if the owner is a fork that takes too long (see [`fork`](super::fork)).
//!
//! The word lies in a page that fork wipes, so a child made by a raw `clone` finds the lock free. Only [`futex`](super::futex) and the
//! waiter call the system, so the model check can run this file as it is.

use super::futex::{AtomicU32, Ordering, wait, wake_one};

const FREE: u32 = 0;
const WAITERS: u32 = 1 << 31;
/// Added to the number of a thread that takes the lock in order to fork.
pub(super) const FORKING: u32 = 1 << 30;

/// All bit patterns are valid. Zero means that the lock is free.
#[repr(transparent)]
pub(super) struct Lock(pub(super) AtomicU32);

/// Why a thread does not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The thread has the lock already.
    Reentrant,
    /// The thread gave up.
    GaveUp,
    /// The system refuses to block the thread's signals.
    Unblocked,
    /// The system does not tell the thread's number.
    Nameless,
}

/// What a waiter does if it has slept and the owner has not released the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It sleeps again.
    Wait,
    /// It takes the lock away from the owner.
    TakeOver,
    /// It goes without the lock.
    GiveUp,
}

/// A thread that wants the lock.
pub(super) trait Waiter {
    /// Blocks signals, because the thread is about to try to take the lock. False if the system refuses, and the thread must not go on
    /// without that.
    fn block(&mut self) -> bool;
    /// Unblocks signals, because the thread did not get the lock.
    fn unblock(&mut self);
    /// Decides what to do about the owner that `word` names. Called if nobody woke the thread from its sleep.
    fn judge(&mut self, word: u32) -> Decision;
}

/// The number of the thread that `word` names.
pub(super) const fn owner(word: u32) -> u32 {
    word & !(WAITERS | FORKING)
}

impl Lock {
    /// Takes the lock under the name `me`: the number of the thread, with [`FORKING`] if the thread is about to fork. When this returns,
    /// signals are blocked if the thread has the lock, and unblocked if not.
    pub(super) fn acquire(&self, me: u32, waiter: &mut impl Waiter) -> Result<(), Refusal> {
        // A thread that has slept sets `WAITERS` when it takes the lock, because other threads possibly still sleep.
        let mut mine = me;
        let mut expected = FREE;
        loop {
            if !waiter.block() {
                return Err(Refusal::Unblocked);
            }
            let now = match self.0.compare_exchange(expected, mine, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => now,
            };
            waiter.unblock();
            if expected == FREE && owner(now) == owner(me) {
                return Err(Refusal::Reentrant);
            }
            expected = FREE;
            // `WAITERS` tells the owner to wake a thread. To set it twice does no harm.
            let marked = now | WAITERS;
            if now == FREE || self.0.compare_exchange(now, marked, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                continue;
            }
            mine = me | WAITERS;
            if wait(&self.0, marked) {
                continue;
            }
            match waiter.judge(marked) {
                Decision::Wait => {}
                Decision::TakeOver => expected = marked,
                Decision::GiveUp => return Err(Refusal::GaveUp),
            }
        }
    }

    /// Releases the lock that was taken under the name `me`. Does nothing if it was taken over.
    pub(super) fn release(&self, me: u32) {
        let mut now = me;
        while let Err(changed) = self.0.compare_exchange(now, FREE, Ordering::Release, Ordering::Relaxed) {
            if changed & !WAITERS != me {
                return;
            }
            now = changed;
        }
        if now & WAITERS != 0 {
            wake_one(&self.0);
        }
    }

    /// Whether nobody has the lock.
    pub(super) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FREE
    }

    /// Frees the lock in a child of fork, where its owner does not exist.
    pub(super) fn reset(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}
