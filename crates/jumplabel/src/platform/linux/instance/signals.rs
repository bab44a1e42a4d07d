//! Blocking all signals of the calling thread while it holds the lock, but one: a seccomp filter may ask a handler of SIGSYS what becomes
//! of a system call (`SECCOMP_RET_TRAP`), and the kernel kills a process that blocks that signal then.
//!
//! The C library keeps its own two (cancellation, setuid) out of the set; their handlers do not come here.

use core::mem::MaybeUninit;

use crate::platform::linux::libc;

/// What [`block`] returns if the system refuses, and [`restore`] does nothing for: no thread has SIGKILL in its mask.
pub(super) const REFUSED: u64 = 1 << 8;

/// Blocks them; the mask to go back to, or [`REFUSED`].
#[inline(never)]
pub(crate) fn block() -> u64 {
    let [mut all, mut old] = [const { MaybeUninit::<libc::SigSet>::uninit() }; 2];
    // SAFETY: both sets are as large as the C library's, which fills them. Of `old` one word is read: 64 signals; the rest is padding.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        *all.as_mut_ptr().cast::<u64>() &= !(1 << (libc::SIGSYS - 1));
        if libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr()) != 0 {
            return REFUSED;
        }
        old.as_ptr().cast::<u64>().read()
    }
}

/// Goes back to `mask`.
#[inline(never)]
pub(crate) fn restore(mask: u64) {
    if mask == REFUSED {
        return;
    }
    let mut old = libc::SigSet([0; 16]);
    old.0[0] = mask;
    // SAFETY: as large as the C library's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, core::ptr::null_mut()) };
}
