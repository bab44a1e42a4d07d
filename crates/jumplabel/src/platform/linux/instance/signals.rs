//! Blocks the signals of a thread while it holds the lock: all except SIGSYS. SIGSYS must stay unblocked, because a seccomp filter can have a handler
//! of SIGSYS decide about a system call (`SECCOMP_RET_TRAP`). If SIGSYS were blocked at such a call, the kernel would kill the process.
//!
//! The C library's own two signals (for cancellation and `setuid`) cannot be blocked. That does no harm, because their handlers do not call this
//! library.

use core::mem::MaybeUninit;

use crate::platform::linux::libc;

/// The value that [`block`] returns if the system refuses, and for which [`restore`] does nothing. No thread really has this mask: it contains
/// SIGKILL, which cannot be blocked.
pub(super) const REFUSED: u64 = 1 << 8;

/// Blocks all signals of the calling thread except SIGSYS, and returns the thread's previous mask. Returns [`REFUSED`] if the system refuses.
#[inline(never)]
pub(crate) fn block() -> u64 {
    let [mut all, mut old] = [const { MaybeUninit::<libc::SigSet>::uninit() }; 2];
    // SAFETY: both sets have the size of the C library's type. `sigfillset` fills `all`, and `pthread_sigmask` fills the first word of `old`, which
    // holds all 64 signals. Only that word of `old` is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        *all.as_mut_ptr().cast::<u64>() &= !(1 << (libc::SIGSYS - 1));
        if libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr()) != 0 {
            return REFUSED;
        }
        old.as_ptr().cast::<u64>().read()
    }
}

/// Sets the mask of the calling thread to `mask`, which [`block`] returned. Does nothing if `mask` is [`REFUSED`].
#[inline(never)]
pub(crate) fn restore(mask: u64) {
    if mask == REFUSED {
        return;
    }
    let mut old = libc::SigSet([0; 16]);
    old.0[0] = mask;
    // SAFETY: `old` has the size of the C library's type, and all of it is initialised.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, core::ptr::null_mut()) };
}
