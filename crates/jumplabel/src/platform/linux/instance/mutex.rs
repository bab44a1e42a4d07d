//! The process-wide lock: a futex word that names its owner.
//!
//! ```text
//!   0               free
//!   tid             a thread has it
//!   tid | FORKING   a thread has it that is about to fork
//!   ... | WAITERS   and another thread may sleep
//! ```
//!
//! The owner blocks all its signals, so no handler finds the lock held by the thread that it interrupted. A thread that waits blocks
//! signals only to look, and sleeps with the mask that it had. If the system refuses to block them, a flip does not get the lock; what
//! cannot be refused (an object goes, the process forks) takes it all the same. If the owner comes back to the lock in another way (a fault in the
//! patcher, an atfork handler behind ours), it is found by its number and refused.
//!
//! No sleep is for ever. If nobody woke it, the waiter judges the owner. It may take the lock over, from an owner that does not exist any
//! more, and from a fork that takes too long (see [`fork`](super::fork)).
//!
//! The word lies in a page that fork wipes: a child made by a raw `clone` finds the lock free. Only [`futex`](super::futex) and the
//! waiter call the system, so the model check can run this file as it is.

use super::futex::{AtomicU32, Ordering, wait, wake_one};

const FREE: u32 = 0;
const WAITERS: u32 = 1 << 31;
/// Added to the number of a thread that takes the lock in order to fork.
pub(super) const FORKING: u32 = 1 << 30;

/// All bit patterns are valid; zero is free.
#[repr(transparent)]
pub(super) struct Lock(pub(super) AtomicU32);

/// Why a thread does not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It has it already.
    Reentrant,
    /// It gave up.
    GaveUp,
    /// It cannot keep handlers of signals away.
    Unblocked,
}

/// What a waiter does about an owner that did not let go while it slept.
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
    /// Keeps handlers of signals away: the thread is about to try. False if it cannot, and must not go on without.
    fn block(&mut self) -> bool;
    /// Lets them come: the thread does not have the lock.
    fn unblock(&mut self);
    /// What to do about the owner that `word` names, after a sleep that nobody ended.
    fn judge(&mut self, word: u32) -> Decision;
}

/// The number of the thread that `word` names.
pub(super) const fn owner(word: u32) -> u32 {
    word & !(WAITERS | FORKING)
}

impl Lock {
    /// Takes the lock under the name `me`: the number of the thread, with [`FORKING`] if it is about to fork. Returns with
    /// signals blocked if it has the lock, and unblocked if not.
    pub(super) fn acquire(&self, me: u32, waiter: &mut impl Waiter) -> Result<(), Refusal> {
        // Whoever has slept keeps the mark: others may sleep too.
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
            // The mark tells the owner to wake somebody. Setting it twice does no harm.
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

    /// Whether nobody has it.
    pub(super) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FREE
    }

    /// In a child of fork, which has one thread.
    pub(super) fn reset(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}
