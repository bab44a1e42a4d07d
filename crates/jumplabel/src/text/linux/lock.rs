//! The process-wide lock: a futex word that names its owner.
//!
//! ```text
//!   0              free
//!   tid            taken by that thread
//!   tid | WAITERS  taken, and a thread may sleep (Linux: the layout of a robust futex)
//! ```
//!
//! All signals of the thread are blocked first (see [`signals`](super::signals)), so that no handler can find the lock held
//! by the thread that it interrupted. What is left of re-entry (a fault in the patcher, an atfork handler behind ours) is
//! found by the owner's name and refused.
//!
//! The word lies in a page that fork wipes: a child made by a raw `clone` finds the lock free. Nothing here calls the
//! system but [`futex`](super::futex), so that the lock can be model-checked as it stands.

use super::futex::{AtomicU32, Ordering, wait, wake_one};

const FREE: u32 = 0;
const WAITERS: u32 = 1 << 31;

/// All bit patterns are valid; zero is free.
#[repr(transparent)]
pub(super) struct Lock(pub(super) AtomicU32);

/// The thread holds the lock already.
pub(super) struct Reentrant;

impl Lock {
    /// Takes the lock for thread `me`, which is neither 0 nor as large as `WAITERS`.
    pub(super) fn acquire(&self, me: u32) -> Result<(), Reentrant> {
        // Whoever has slept keeps the mark: others may sleep too.
        let mut mine = me;
        loop {
            let now = match self.0.compare_exchange(FREE, mine, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => now,
            };
            if now & !WAITERS == me {
                return Err(Reentrant);
            }
            // The mark tells the owner to wake somebody. Setting it twice does no harm.
            let marked = now | WAITERS;
            if self.0.compare_exchange(now, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                wait(&self.0, marked);
                mine = me | WAITERS;
            }
        }
    }

    /// Releases the lock, which the calling thread holds.
    pub(super) fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) & WAITERS != 0 {
            wake_one(&self.0);
        }
    }

    /// In a child of fork, whose only thread is the one that took the lock in the parent.
    pub(super) fn reset(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}
