//! Signals that end the tool. A thread waits for them, so that the terminal is restored first.

use std::mem::MaybeUninit;
use std::ptr;

/// The signals that ask a process to end.
const ENDING: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

fn set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set before anything reads it, and the rest are numbers of signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in ENDING {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// Blocks these signals in this thread and in all threads that it starts later.
pub fn block() {
    // SAFETY: `set` returns an initialised set, and `pthread_sigmask` accepts a null pointer in place of the old mask.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set(), ptr::null_mut()) };
}

/// Waits for one of these signals, which all threads block.
pub fn wait() -> libc::c_int {
    let mut signal = 0;
    // SAFETY: `set` returns an initialised set, and `signal` lives on this function's stack.
    while unsafe { libc::sigwait(&set(), &raw mut signal) } != 0 {}
    signal
}

/// Ends the process by a signal, as if nobody had blocked the signal.
pub fn end_by(signal: libc::c_int) {
    // SAFETY: the signal's action becomes the system's own, so no handler of this program runs. The set is initialised, and outlives its call.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set(), ptr::null_mut());
        libc::raise(signal);
    }
}
