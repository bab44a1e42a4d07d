//! Cache maintenance, which comes after stores to code and before the core sync; see [`arch::maintain`] for the order.
//!
//! A page that `remap` moves over the text needs no maintenance: the kernel makes caches agree when a page becomes executable for the first time.
//! RISC-V needs no maintenance either, because core sync there is a system call that also maintains caches (see [`sync`](super::sync)). On 32-bit
//! Arm, cache maintenance is a system call of its own, which reaches all processors.

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
        // SAFETY: the call changes nothing but caches. It cannot fail for text that is mapped.
        unsafe { libc::syscall(CACHEFLUSH, write.address, write.address + write.bytes().len(), 0) };
        events::log(Event::Act(arch::Act::Invalidate(write.address)));
    }
    arch::maintain(writes.iter().map(|write| write.address), Native::caches(), |act| {
        // SAFETY: the writes are to code that is mapped and can be read.
        unsafe { Native::act(act) };
        events::log(Event::Act(act));
    });
}
