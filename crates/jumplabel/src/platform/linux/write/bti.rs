//! Guarded code, which is code with `PROT_BTI`. On processors with branch target identification (Arm ARM D8.4.6, FEAT_BTI), an indirect branch into a
//! page that has `PROT_BTI` must lead to an instruction that is marked as a target. A change of a page's protection removes `PROT_BTI`, unless the
//! change asks for `PROT_BTI` again. So a writer must know whether a page has `PROT_BTI`. But neither /proc/self/maps nor `PROCMAP_QUERY` shows that,
//! and to read smaps costs too much, because the kernel then walks all pages before the wanted ones.
//!
//! So the library derives the answer from the rules by which `PROT_BTI` is set. An object's property note says whether all of the object's code is
//! fit for `PROT_BTI`. If the code is fit, the kernel sets `PROT_BTI` for it in a program without an interpreter (arch/arm64/kernel/process.c,
//! `arch_elf_adjust_prot`), and glibc since 2.32 sets it in every object that glibc loads. musl does not set it.

use rustix::mm::MprotectFlags;

/// The protection flags that the text at `address` has and the system does not show: `PROT_BTI`, or none. The caller holds the lock.
#[cfg(all(target_arch = "aarch64", jumplabel_sites))]
pub(super) fn protection(address: usize) -> MprotectFlags {
    use crate::format::{GUARDED, Runtime};
    use crate::platform::instances;
    use crate::platform::linux::instance::process_state::{self, ProcessState};
    use crate::platform::linux::loader::segments;

    /// arch/arm64/include/uapi/asm/mman.h.
    const PROT_BTI: u32 = 0x10;
    let runtimes = process_state::get().map_or(core::ptr::null(), ProcessState::runtimes);
    // SAFETY: the caller holds the lock, so the instances on the list of this process stay loaded.
    let guarded = unsafe { instances::from(runtimes) }
        .flat_map(Runtime::objects)
        .filter(|object| object.has(GUARDED))
        .any(|object| {
            // SAFETY: the object is on the list of its instance, and the lock is held, so the object is loaded. The words came from
            // `Platform::place`.
            unsafe { segments::image(object.place()) }.is_some_and(|image| image.contains_code(address, 1))
        });
    MprotectFlags::from_bits_retain(if guarded { PROT_BTI } else { 0 })
}

/// No flags: only on aarch64 does text have protection flags that the system does not show.
#[cfg(not(all(target_arch = "aarch64", jumplabel_sites)))]
pub(super) const fn protection(_address: usize) -> MprotectFlags {
    MprotectFlags::empty()
}
