//! Cache maintenance after stores to code, before the core sync; see [`arch::maintain`] for the order.
//!
//! A page that `swap` moves over the text needs none: the kernel makes a page's caches agree when it becomes executable for
//! the first time. Nor does RISC-V: there core sync is a system call that does both (see [`sync`](super::sync)). On 32-bit Arm
//! it is a system call of its own, which reaches all processors.

use super::record::{self, Event};
use crate::arch;
use crate::patch::{EditList, Step};

/// What the processor needs, after `step` was stored at `edits`.
pub(super) fn maintain(edits: &EditList, step: Step) {
    let sites = edits.iter().filter(|edit| step.piece(edit).is_some()).map(|edit| edit.address);
    #[cfg(target_arch = "arm")]
    for site in sites.clone() {
        const CACHEFLUSH: core::ffi::c_long = 0x0f_0002; // __ARM_NR_cacheflush: from, to, no flags
        // SAFETY: changes nothing but caches. It cannot fail for text that is mapped.
        unsafe { super::libc::syscall(CACHEFLUSH, site, site + arch::SITE_SIZE, 0) };
        record::note(Event::Act(arch::Act::Invalidate(site)));
    }
    arch::maintain(sites, arch::caches(), |act| {
        // SAFETY: the sites are mapped and readable.
        unsafe { arch::act(act) };
        record::note(Event::Act(act));
    });
}
