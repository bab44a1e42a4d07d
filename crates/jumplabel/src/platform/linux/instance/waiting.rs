//! Waits for the lock. A waiting thread still takes its signals, and never waits for an owner that does not exist. If nothing has woken the thread
//! from a sleep, what it does next depends on the owner of the lock:
//!
//! ```text
//!   the owner                         a thread that wants to flip       a thread that wants to fork
//!   flips, or holds a Lock            sleeps again                      sleeps again, but gives up after a second
//!   is about to fork                  takes the lock over               sleeps again, but gives up after a second
//!   does not exist any more           takes the lock over               takes the lock over
//! ```
//!
//! A handler of fork can wait for a lock of the program that the caller of a flip holds, because the library does not know in which order a program
//! takes its own locks. If the flip waited without limit for the fork, the two would deadlock. So a fork keeps the lock only for the time that
//! forks usually take. If another thread has taken the lock over, or the fork has given up, the child notices that and repairs its sites (see
//! `patch::in_flight`).
//!
//! An owner can cease to exist in two ways. It was in another process that shares this process's memory (a child made by `clone(CLONE_VM)` or
//! `vfork`), and that process was killed in mid-flip. Or it was a thread that ended while it held the lock. The thread that takes the lock over
//! undoes the owner's unfinished work.

use core::ffi::c_int;

use rustix::process::{Pid, WaitId, WaitIdOptions, test_kill_process, waitid};

use super::futex::{LONGEST, has_ended};
use super::mutex::{Decision, FORKING, NAMELESS, Waiter, owner};
use super::{cancellation, signals};

pub(super) struct Waiting {
    role: u32,
    /// Whether the thread takes the lock even if the system refuses to block signals.
    anyway: bool,
    /// The thread's mask of signals, and its state of cancellation, before it blocked signals and turned cancellation off.
    before: (u64, c_int),
    /// The number of sleeps from which nothing woke the thread.
    sleeps: u32,
    /// Whether the thread may have taken the lock over from a fork.
    took_over: bool,
}

/// The longest time that a fork waits, in milliseconds.
const PATIENCE: u32 = 1000;

impl Waiting {
    /// A thread that begins to wait, for a flip (`role` is 0) or for a fork (`role` is [`FORKING`]). If `anyway` is true, the thread takes the lock
    /// even if the system refuses to block signals.
    pub(super) fn new(role: u32, anyway: bool) -> Waiting {
        Waiting { role, anyway, before: (0, 0), sleeps: 0, took_over: false }
    }

    /// The mask of signals and the state of cancellation that must be restored.
    pub(super) fn before(&self) -> (u64, c_int) {
        self.before
    }

    /// Whether the thread may have taken the lock over from a fork.
    pub(super) fn took_over(&self) -> bool {
        self.took_over
    }
}

impl Waiter for Waiting {
    fn block(&mut self) -> bool {
        let mask = signals::block();
        let goes_on = mask != signals::REFUSED || self.anyway;
        if goes_on {
            self.before = (mask, cancellation::disable());
        }
        goes_on
    }

    fn unblock(&mut self) {
        let (mask, cancellable) = self.before;
        signals::restore(mask);
        cancellation::restore(cancellable);
    }

    fn judge(&mut self, word: u32) -> Decision {
        self.sleeps += 1;
        let forks = self.role == FORKING;
        if is_gone(owner(word)) {
            Decision::TakeOver
        } else if word & FORKING != 0 && !forks {
            self.took_over = true;
            Decision::TakeOver
        } else if forks && self.sleeps * LONGEST >= PATIENCE {
            Decision::GiveUp
        } else {
            Decision::Wait
        }
    }
}

/// Whether the thread has ended, even if it is still there as a zombie. If the system does not answer `has_ended` (a kernel without
/// `CONFIG_FUTEX_PI`, a filter), this function asks other questions. They miss two sorts of zombies: the first thread of a process whose other
/// threads continue, and a child of another process. A thread without a number counts as alive.
fn is_gone(thread: u32) -> bool {
    if thread == NAMELESS {
        return false;
    }
    /// `__WALL`: `waitid` looks at all children, even those that do not send `SIGCHLD` when they end.
    const ALL: WaitIdOptions = WaitIdOptions::from_bits_retain(0x4000_0000);
    let Some(pid) = Pid::from_raw(thread as i32) else { return false };
    has_ended(thread).unwrap_or_else(|| {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG | ALL;
        test_kill_process(pid) == Err(rustix::io::Errno::SRCH) || matches!(waitid(WaitId::Pid(pid), look), Ok(Some(_)))
    })
}
