//! Blocking all signals of the calling thread while it holds the lock, but one: a seccomp filter may ask a handler of SIGSYS what becomes
//! of a system call (`SECCOMP_RET_TRAP`), and the kernel kills a process that blocks that signal then.
//!
//! The C library keeps its own two (cancellation, setuid) out of the set; their handlers do not come here.

use super::libc;

/// Blocks them; the mask to go back to.
pub(super) fn block() -> u64 {
    let mut all = libc::SigSet([0; 16]);
    let mut old = libc::SigSet([0; 16]);
    // SAFETY: both sets are as large as the C library's.
    unsafe {
        libc::sigfillset(&raw mut all);
        all.0[0] &= !(1 << (libc::SIGSYS - 1));
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
    }
    old.0[0] // 64 signals; the rest of the set is padding
}

/// Goes back to `mask`.
pub(super) fn restore(mask: u64) {
    let mut old = libc::SigSet([0; 16]);
    old.0[0] = mask;
    // SAFETY: as large as the C library's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, core::ptr::null_mut()) };
}
