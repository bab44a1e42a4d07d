//! Guarded code. If a processor has branch target identification (Arm ARM D8.4.6, FEAT_BTI), an indirect branch into a page that has `PROT_BTI`
//! must lead to an instruction that is marked as a target. A change of protection removes `PROT_BTI`, unless it asks for `PROT_BTI` again. But
//! there is no cheap way to find out whether a page has `PROT_BTI`: neither /proc/self/maps nor `PROCMAP_QUERY` shows it, and a read of smaps makes
//! the kernel walk all pages in front of the wanted ones.
//!
//! So the library derives the answer from the rules by which `PROT_BTI` is set. An object says in its property note that all of its code is fit
//! for `PROT_BTI`. If such an object is a program without an interpreter, the kernel sets `PROT_BTI` for its code (arch/arm64/kernel/process.c,
//! `arch_elf_adjust_prot`). glibc 2.32 and later sets it for every such object that it loads; musl does not.

use rustix::mm::MprotectFlags;

/// Those protection flags of the text at `address` that the system does not show. The caller holds the lock.
#[cfg(all(target_arch = "aarch64", jumplabel_sites))]
pub(super) fn protection(address: usize) -> MprotectFlags {
    use crate::format::{GUARDED, Runtime};
    use crate::platform::instances;
    use crate::platform::linux::instance::process_state::{self, ProcessState};
    use crate::platform::linux::loader::segments;

    /// arch/arm64/include/uapi/asm/mman.h.
    const PROT_BTI: u32 = 0x10;
    let runtimes = process_state::get().map_or(core::ptr::null(), ProcessState::runtimes);
    // SAFETY: these are the instances of this process, and the lock is held.
    let guarded = unsafe { instances::from(runtimes) }
        .flat_map(Runtime::objects)
        .filter(|object| object.has(GUARDED))
        .any(|object| {
            // SAFETY: an object in the list is loaded.
            unsafe { segments::image(object.place()) }.is_some_and(|image| image.contains_code(address, 1))
        });
    MprotectFlags::from_bits_retain(if guarded { PROT_BTI } else { 0 })
}

/// Those protection flags of the text at `address` that the system does not show. Other instruction sets have no such flags.
#[cfg(not(all(target_arch = "aarch64", jumplabel_sites)))]
pub(super) const fn protection(_address: usize) -> MprotectFlags {
    MprotectFlags::empty()
}
