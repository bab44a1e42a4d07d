//! Signals that end the tool: a thread waits for them, so that the terminal is restored first.

use std::mem::MaybeUninit;
use std::ptr;

/// Those that ask a process to end.
const ENDING: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

fn set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: a set that is made empty first, and numbers of signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in ENDING {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// Keeps them from this thread and from all that it starts later.
pub fn block() {
    // SAFETY: a set, and nobody asks what was blocked before.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set(), ptr::null_mut()) };
}

/// Waits for one of them, which all threads block.
pub fn wait() -> libc::c_int {
    let mut signal = 0;
    // SAFETY: a set, and a place for the number.
    while unsafe { libc::sigwait(&set(), &raw mut signal) } != 0 {}
    signal
}

/// Ends the process by a signal, as if nobody had blocked it.
pub fn end_by(signal: libc::c_int) {
    // SAFETY: the action is the system's, and no memory is handed over.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set(), ptr::null_mut());
        libc::raise(signal);
    }
}
