//! Guarded code. If a processor has branch target identification (Arm ARM D8.4.6, FEAT_BTI), an indirect branch into a page that has
//! `PROT_BTI` must meet an instruction that says it is a target. A change of protection takes `PROT_BTI` away unless it asks for it
//! again. The kernel has no cheap way to say that it was there: neither its map nor `PROCMAP_QUERY` tells, and smaps walks all pages
//! before those that are asked for.
//!
//! But we know who sets it. An object says in its property note that all of its code keeps to the rule. If the program has no
//! interpreter, the kernel then sets `PROT_BTI` for its code (arch/arm64/kernel/process.c, `arch_elf_adjust_prot`). glibc 2.32 and
//! later sets it for every object that it loads; musl does not.

use rustix::mm::MprotectFlags;

/// What the protection of text at `address` has besides. The lock is held.
#[cfg(all(target_arch = "aarch64", jumplabel_sites))]
pub(super) fn protection(address: usize) -> MprotectFlags {
    use crate::format::{GUARDED, Runtime};
    use crate::platform::instances;
    use crate::platform::linux::instance::process_state::{self, ProcessState};
    use crate::platform::linux::loader::segments;

    /// arch/arm64/include/uapi/asm/mman.h.
    const PROT_BTI: u32 = 0x10;
    let runtimes = process_state::get().map_or(core::ptr::null(), ProcessState::runtimes);
    // SAFETY: the instances of this process, under the lock.
    let guarded = unsafe { instances::from(runtimes) }
        .flat_map(Runtime::objects)
        .filter(|object| object.has(GUARDED))
        .any(|object| {
            // SAFETY: an object of the list is loaded.
            unsafe { segments::image(object.place()) }.is_some_and(|image| image.contains_code(address, 1))
        });
    MprotectFlags::from_bits_retain(if guarded { PROT_BTI } else { 0 })
}

/// What the protection of text at `address` has besides: nothing, on other instruction sets.
#[cfg(not(all(target_arch = "aarch64", jumplabel_sites)))]
pub(super) const fn protection(_address: usize) -> MprotectFlags {
    MprotectFlags::empty()
}
