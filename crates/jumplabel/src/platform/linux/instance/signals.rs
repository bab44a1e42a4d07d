//! Blocks all signals of the calling thread except SIGSYS while the thread holds the lock. SIGSYS must stay unblocked, because a seccomp filter can
//! let a handler of SIGSYS decide about a system call (`SECCOMP_RET_TRAP`). If SIGSYS is blocked at that moment, the kernel kills the process.
//!
//! The C library does not allow its own two signals (cancellation, setuid) to be blocked. Their handlers do not call this library.

use core::mem::MaybeUninit;

use crate::platform::linux::libc;

/// The mask that [`block`] returns if the system refuses; [`restore`] then does nothing. No thread has this mask, because SIGKILL is in it.
pub(super) const REFUSED: u64 = 1 << 8;

/// Blocks the signals, and returns the previous mask; [`REFUSED`] if the system refuses.
#[inline(never)]
pub(crate) fn block() -> u64 {
    let [mut all, mut old] = [const { MaybeUninit::<libc::SigSet>::uninit() }; 2];
    // SAFETY: both sets are as large as the C library's type, and the C library fills them. Only the first word of `old` is read: it has all 64
    // signals, and the rest is padding.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        *all.as_mut_ptr().cast::<u64>() &= !(1 << (libc::SIGSYS - 1));
        if libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr()) != 0 {
            return REFUSED;
        }
        old.as_ptr().cast::<u64>().read()
    }
}

/// Sets the mask of signals back to `mask`.
#[inline(never)]
pub(crate) fn restore(mask: u64) {
    if mask == REFUSED {
        return;
    }
    let mut old = libc::SigSet([0; 16]);
    old.0[0] = mask;
    // SAFETY: the set is as large as the C library's type.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, core::ptr::null_mut()) };
}
