//! The behaviour of a thread that waits for the lock. While the thread sleeps, its signals are not blocked. If nothing has woken the thread by the
//! end of a sleep, its next action depends on the owner of the lock:
//!
//! ```text
//!   the owner                         a thread that wants to flip       a thread that wants to fork
//!   flips, or holds a Lock            sleeps again                      sleeps again, but gives up after a second
//!   is about to fork                  takes the lock over               sleeps again, but gives up after a second
//!   does not exist any more           takes the lock over               takes the lock over
//! ```
//!
//! A flip must not wait for a fork without limit, because that could be a deadlock: the caller of the flip can hold a lock of the program, and an
//! atfork handler of the program can wait for that lock. The library does not know in which order a program takes its own locks. So a fork keeps the
//! lock only for the time that forks usually take. If a thread has taken the lock over from the fork, or if the fork has given up, the child notices
//! that and repairs its sites (see `patch::in_flight`).
//!
//! There are two ways in which an owner ceases to exist. It can be a thread that ended while it held the lock. Or it can belong to another process
//! that shares this process's memory (a child made by `clone(CLONE_VM)` or `vfork`) and that was killed in mid-flip. The thread that takes the lock
//! over finishes or undoes the owner's transaction.

use core::ffi::c_int;

use rustix::process::{Pid, WaitId, WaitIdOptions, test_kill_process, waitid};

use super::futex::{LONGEST, has_ended};
use super::mutex::{Decision, FORKING, NAMELESS, Waiter, owner};
use super::{cancellation, signals};

pub(super) struct Waiting {
    role: u32,
    /// Whether the thread may take the lock even if the system refuses to block signals.
    anyway: bool,
    /// The mask of signals and the state of cancellation that the thread had before it last blocked signals and turned cancellation off.
    before: (u64, c_int),
    /// The number of sleeps that lasted the full time, because nothing woke the thread.
    sleeps: u32,
    /// Whether the thread has tried to take the lock over from a thread that is about to fork.
    took_over: bool,
}

/// The longest time that a thread waits for the lock in order to fork, in milliseconds.
const PATIENCE: u32 = 1000;

impl Waiting {
    /// The state of a thread that begins to wait. `role` is [`FORKING`] if the thread is about to fork, otherwise 0. If `anyway` is true, the thread
    /// takes the lock even if the system refuses to block signals.
    pub(super) fn new(role: u32, anyway: bool) -> Waiting {
        Waiting { role, anyway, before: (0, 0), sleeps: 0, took_over: false }
    }

    /// The mask of signals and the state of cancellation that must be restored when the lock is released.
    pub(super) fn before(&self) -> (u64, c_int) {
        self.before
    }

    /// Whether the thread has tried to take the lock over from a thread that is about to fork.
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

/// Whether the thread does not exist or is a zombie. If the system does not answer `has_ended` (a kernel without `CONFIG_FUTEX_PI`, a seccomp
/// filter), this function uses `kill` and `waitid`. These do not recognise two sorts of zombies: the first thread of a process whose other threads
/// continue, and a child of another process. False for an owner without a number ([`NAMELESS`]).
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
