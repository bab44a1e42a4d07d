//! The process-wide lock: a futex word that contains the number of the owner's thread.
//!
//! ```text
//!   0               free
//!   tid             a thread has it
//!   tid | FORKING   a thread has it, and is about to fork
//!   ... | WAITERS   in addition, another thread possibly sleeps
//! ```
//!
//! The owner blocks its signals, so no signal handler can interrupt a thread that has the lock. A waiting thread blocks signals only while it tries
//! to take the lock, and sleeps with its previous mask. If the system refuses to block signals, a flip does not get the lock, but work that must be
//! done (an object is unloaded, the process forks) takes the lock nevertheless. The owner can still try to take the lock again: in the handler of a
//! fault in the patcher, or in an atfork handler that runs after the library's `prepare` and flips. The lock then recognises the owner's number, and
//! refuses.
//!
//! No sleep lasts longer than [`LONGEST`](super::futex::LONGEST) milliseconds. If nothing has woken a thread by then, the thread looks at the state
//! of the owner. It can take the lock over from an owner that no longer exists, or from a fork that takes too long (see [`waiting`](super::waiting)).
//!
//! The word lies in a page that forks wipe, so the child of a raw `clone` finds the lock free. This file itself calls the system only through
//! [`futex`](super::futex) and the trait [`Waiter`]. So the model check can run this file unchanged, with its own versions of the two.

use super::futex::{AtomicU32, Ordering, wait, wake_one};

const FREE: u32 = 0;
const WAITERS: u32 = 1 << 31;
/// The bit in the lock's word that is set if the owner has taken the lock in order to fork.
pub(super) const FORKING: u32 = 1 << 30;
/// The number that a thread uses if the system does not tell its own. No thread really has this number, because it is above the kernel's limit
/// (`PID_MAX_LIMIT`).
pub(super) const NAMELESS: u32 = FORKING - 1;

/// The lock. All bit patterns are valid, and zero is a free lock.
#[repr(transparent)]
pub(super) struct Lock(pub(super) AtomicU32);

/// The reason why a thread does not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The thread has the lock already.
    Reentrant,
    /// The thread has given up waiting. Only a thread that is about to fork does.
    GaveUp,
    /// The system refuses to block the thread's signals.
    Unblocked,
    /// The system refuses to give the thread's number.
    Nameless,
}

/// The decision of a waiting thread that nothing has woken from its sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The thread tries again, and sleeps again.
    Wait,
    /// The thread takes the lock over from its owner.
    TakeOver,
    /// The thread continues without the lock.
    GiveUp,
}

/// A thread that wants the lock: its signals, and its decisions while it waits.
pub(super) trait Waiter {
    /// Blocks signals before the thread tries to take the lock. Returns false if the system refuses, unless this thread takes the lock even then.
    fn block(&mut self) -> bool;
    /// Restores the previous mask of signals, because the thread did not get the lock.
    fn unblock(&mut self);
    /// Decides what the thread does about the owner that `word` names. Called if nothing has woken the thread from its sleep.
    fn judge(&mut self, word: u32) -> Decision;
}

/// The number of the owner in the lock's word, or in a name.
pub(super) const fn owner(word: u32) -> u32 {
    word & !(WAITERS | FORKING)
}

impl Lock {
    /// Takes the lock under the name `me`: the number of the thread, with [`FORKING`] if the thread is about to fork. When this returns `Ok`, the
    /// waiter has blocked signals. When it returns an error, signals are as before.
    pub(super) fn acquire(&self, me: u32, waiter: &mut impl Waiter) -> Result<(), Refusal> {
        // A thread that does not know its number cannot recognise itself as the owner. `FREE` never equals the number of an owner.
        let myself = if owner(me) == NAMELESS { FREE } else { owner(me) };
        // The word that this thread stores when it takes the lock. After a sleep, it contains `WAITERS`, because other threads may still sleep.
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
            // `WAITERS` tells the owner to wake a thread when it releases the lock. It may already be set.
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

    /// Releases the lock that this thread took under the name `me`, and wakes a waiting thread. Does nothing if another thread has taken the lock
    /// over.
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

    /// Frees the lock, whoever has it. Called in a forked child, in which the owner does not exist.
    pub(super) fn reset(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}
