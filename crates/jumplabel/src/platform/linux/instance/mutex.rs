//! The process-wide lock: a futex word that names its owner.
//!
//! ```text
//!   0               free
//!   tid             a thread has it
//!   tid | FORKING   a thread has it, and is about to fork
//!   ... | WAITERS   in addition, another thread possibly sleeps
//! ```
//!
//! The owner blocks all its signals, so no handler can interrupt a thread that has the lock. A waiting thread blocks signals only during each try,
//! and sleeps with its previous mask. If the system refuses to block signals, a flip does not get the lock. Work that must be done (an object is
//! unloaded, the process forks) takes the lock nevertheless. Even without a signal, the owner can try to take the lock again: in a fault in the
//! patcher, or in an atfork handler that runs after ours. Then the lock recognises the owner's number, and refuses.
//!
//! No sleep is for ever. If nothing wakes the waiter for some time, it judges the owner. It can take over the lock in two cases: the owner no
//! longer exists, or the owner is a fork that takes too long (see [`fork`](super::fork)).
//!
//! The word lies in a page that fork wipes, so a child made by a raw `clone` finds the lock free. Only [`futex`](super::futex) and the
//! waiter call the system, so the model check can run this file as it is.

use super::futex::{AtomicU32, Ordering, wait, wake_one};

const FREE: u32 = 0;
const WAITERS: u32 = 1 << 31;
/// A bit in the name of a thread that takes the lock in order to fork.
pub(super) const FORKING: u32 = 1 << 30;
/// Stands for the number of each thread whose number the system does not tell. No thread has this number (Linux: `PID_MAX_LIMIT`).
pub(super) const NAMELESS: u32 = FORKING - 1;

/// The lock. All bit patterns are valid. Zero means that the lock is free.
#[repr(transparent)]
pub(super) struct Lock(pub(super) AtomicU32);

/// The reason why a thread does not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The thread has the lock already.
    Reentrant,
    /// The thread gave up.
    GaveUp,
    /// The system refuses to block the thread's signals.
    Unblocked,
    /// The system refuses to give the thread's number.
    Nameless,
}

/// The decision of a waiter, if the owner has not released the lock during the waiter's sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The waiter sleeps again.
    Wait,
    /// The waiter takes the lock over from the owner.
    TakeOver,
    /// The waiter continues without the lock.
    GiveUp,
}

/// A thread that wants the lock.
pub(super) trait Waiter {
    /// Blocks signals, because the thread will try to take the lock next. Returns false if the system refuses and the thread must not take the lock
    /// without that.
    fn block(&mut self) -> bool;
    /// Unblocks signals, because the thread did not get the lock.
    fn unblock(&mut self);
    /// Decides what to do about the owner that `word` names. Called if nothing woke the thread from its sleep.
    fn judge(&mut self, word: u32) -> Decision;
}

/// The number of the thread named in `word`.
pub(super) const fn owner(word: u32) -> u32 {
    word & !(WAITERS | FORKING)
}

impl Lock {
    /// Takes the lock under the name `me`: the number of the thread, with [`FORKING`] if the thread is about to fork. When this returns, signals
    /// are blocked if the thread has the lock, and unblocked otherwise.
    pub(super) fn acquire(&self, me: u32, waiter: &mut impl Waiter) -> Result<(), Refusal> {
        // A thread without a number cannot find itself: this is the owner of a free lock.
        let myself = if owner(me) == NAMELESS { FREE } else { owner(me) };
        // A thread that has slept sets `WAITERS` when it takes the lock, because other threads may still sleep.
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
            if expected == FREE && owner(now) == myself {
                return Err(Refusal::Reentrant);
            }
            expected = FREE;
            // `WAITERS` tells the owner to wake a thread. Setting it twice does no harm.
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

    /// Releases the lock that was taken under the name `me`. Does nothing if another thread has taken the lock over.
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

    /// Whether no thread has the lock.
    pub(super) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FREE
    }

    /// Frees the lock in a forked child, where its owner does not exist.
    pub(super) fn reset(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}
