//! Ready-made functions for the [`Machine`](crate::Machine) of a kernel on x86 (64 and 32 bits), in ring 0. Take those that fit.

use core::arch::asm;
#[cfg(target_arch = "x86")]
use core::arch::x86::__cpuid;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__cpuid;

/// [`Machine::interrupts_off`](crate::Machine::interrupts_off): the flag `IF` as it was.
#[inline]
#[must_use]
pub fn interrupts_off() -> u64 {
    let flags: usize;
    // SAFETY: this turns interrupts off, and the caller turns them on again.
    #[cfg(target_arch = "x86")]
    unsafe {
        asm!("pushfd", "pop {}", "cli", out(reg) flags)
    };
    // SAFETY: this turns interrupts off, and the caller turns them on again.
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
        // SAFETY: this turns interrupts on if they were on before.
        unsafe { asm!("sti", options(nostack)) };
    }
}

/// [`Machine::serialise`](crate::Machine::serialise). Instruction caches follow stores here, so no `clean` is needed.
#[inline]
#[allow(unused_unsafe)] // `__cpuid` is safe in newer compilers.
pub fn serialise() {
    // SAFETY: all processors that the kernels run on have the instruction, and it changes registers only.
    let _ = unsafe { __cpuid(0) };
}
