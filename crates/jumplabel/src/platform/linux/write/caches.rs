//! The cache maintenance that comes after stores to code and before the core sync. [`arch::maintain`] defines the order of its acts.
//!
//! The `remap` writer needs no maintenance, because the kernel makes caches agree when a page becomes executable for the first time. RISC-V needs
//! none either, because core sync is a system call there that also maintains caches (see [`sync`](super::sync)). On 32-bit Arm, cache maintenance is
//! a separate system call, which reaches all processors.

use super::events::{self, Event};
use crate::arch::{self, Machine, Native};
use crate::platform::Write;
#[cfg(target_arch = "arm")]
use crate::platform::linux::libc;

/// Does the cache maintenance that the processor needs after `writes`.
pub(super) fn maintain(writes: &[Write]) {
    #[cfg(target_arch = "arm")]
    for write in writes {
        const CACHEFLUSH: core::ffi::c_long = 0x0f_0002; // __ARM_NR_cacheflush: from, to, no flags
        // SAFETY: the call changes only caches, and cannot fail, because the caller has just written to this text, so it is mapped.
        unsafe { libc::syscall(CACHEFLUSH, write.address, write.address + write.bytes().len(), 0) };
        events::log(Event::Act(arch::Act::Invalidate(write.address)));
    }
    arch::maintain(writes.iter().map(|write| write.address), Native::caches(), |act| {
        // SAFETY: the caller has just written to these addresses, so they are mapped and can be read.
        unsafe { Native::act(act) };
        events::log(Event::Act(act));
    });
}
