//! The process-wide lock: a futex that names its owner, taken with all signals blocked.
//!
//! ```text
//!   0              free
//!   tid            taken by that thread
//!   tid | WAITERS  taken, and a thread sleeps (Linux: the layout of a robust futex)
//! ```
//!
//! Signals are blocked first, so that no handler can find the lock held by the thread that it interrupted. What is left of
//! re-entry (a fault in the patcher, an atfork handler behind ours) is found by the owner's name and refused. The word
//! lies in a page that fork wipes: a child made by a raw `clone` finds the lock free.

use core::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex;

use super::libc;
use crate::error::Error;
use crate::text::Token;

const FREE: u32 = 0;
const WAITERS: u32 = 1 << 31;

#[repr(transparent)]
pub(super) struct Lock(AtomicU32);

impl Lock {
    /// Blocks all signals of this thread, then takes the lock. The token is the signal mask to go back to.
    pub(super) fn take(&self) -> Result<Token, Error> {
        let token = block_signals();
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        match self.acquire(me) {
            Ok(()) => Ok(token),
            Err(error) => {
                restore_signals(token);
                Err(error)
            }
        }
    }

    fn acquire(&self, me: u32) -> Result<(), Error> {
        let mut now = match self.0.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => now,
        };
        loop {
            if now & !WAITERS == me {
                return Err(Error::Reentrant);
            }
            if now == FREE {
                // Others may sleep: whoever has slept keeps the mark.
                match self.0.compare_exchange(FREE, me | WAITERS, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return Ok(()),
                    Err(changed) => now = changed,
                }
                continue;
            }
            // The mark tells the owner to wake somebody. Setting it twice does no harm.
            if let Err(changed) = self.0.compare_exchange(now, now | WAITERS, Ordering::Relaxed, Ordering::Relaxed) {
                now = changed;
                continue;
            }
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, now | WAITERS, None);
            now = self.0.load(Ordering::Relaxed);
        }
    }

    /// # Safety
    /// This thread holds the lock, and `token` is what taking it returned.
    pub(super) unsafe fn release(&self, token: Token) {
        if self.0.swap(FREE, Ordering::Release) & WAITERS != 0 {
            let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
        }
        restore_signals(token);
    }

    /// In a child of fork, whose only thread is the one that took the lock in the parent.
    pub(super) fn reset(&self, token: Token) {
        self.0.store(FREE, Ordering::Release);
        restore_signals(token);
    }
}

fn block_signals() -> Token {
    let mut all = libc::SigSet([0; 16]);
    let mut old = libc::SigSet([0; 16]);
    // SAFETY: both sets are as large as the C library's.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
    }
    old.0[0] // 64 signals; the rest of the set is padding
}

fn restore_signals(token: Token) {
    let mut old = libc::SigSet([0; 16]);
    old.0[0] = token;
    // SAFETY: as large as the C library's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, core::ptr::null_mut()) };
}
