//! Ready-made functions for the [`Machine`](crate::Machine) of a kernel on x86 (64 and 32 bits), in ring 0. Take those that fit your kernel.

use core::arch::asm;
#[cfg(target_arch = "x86")]
use core::arch::x86::__cpuid;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__cpuid;

/// [`Machine::interrupts_off`](crate::Machine::interrupts_off): clears the flag `IF`. Returns it as it was.
#[inline]
#[must_use]
pub fn interrupts_off() -> u64 {
    let flags: usize;
    // SAFETY: the instructions clear `IF` only. The caller restores it with `restore`.
    #[cfg(target_arch = "x86")]
    unsafe {
        asm!("pushfd", "pop {}", "cli", out(reg) flags)
    };
    // SAFETY: the instructions clear `IF` only. The caller restores it with `restore`.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("pushfq", "pop {}", "cli", out(reg) flags)
    };
    flags as u64 & 1 << 9
}

/// [`Machine::restore`](crate::Machine::restore), for [`interrupts_off`].
#[inline]
pub fn restore(interrupts: u64) {
    if interrupts != 0 {
        // SAFETY: the instruction sets `IF` only, and only if `interrupts_off` found it set.
        unsafe { asm!("sti", options(nostack)) };
    }
}

/// [`Machine::serialise`](crate::Machine::serialise) by `cpuid`. Instruction caches follow stores on x86, so a kernel needs no
/// [`clean`](crate::Machine::clean).
#[inline]
#[allow(unused_unsafe)] // `__cpuid` is safe in newer compilers.
pub fn serialise() {
    // SAFETY: all processors on which this library's kernels run have `cpuid`, and it changes only registers.
    let _ = unsafe { __cpuid(0) };
}
