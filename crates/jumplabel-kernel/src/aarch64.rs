//! Ready-made functions for the [`Machine`](crate::Machine) of a kernel on AArch64, in EL1 or, for all but [`now`], higher. Take those that fit.

use core::arch::asm;
use core::time::Duration;

/// [`Machine::interrupts_off`](crate::Machine::interrupts_off): turns off IRQs only. Returns the bits of `DAIF` as they were.
#[inline]
#[must_use]
pub fn interrupts_off() -> u64 {
    let mask: u64;
    // SAFETY: this turns interrupts off, and the caller turns them on again.
    unsafe { asm!("mrs {}, daif", "msr daifset, #2", out(reg) mask, options(nostack)) };
    mask
}

/// [`Machine::restore`](crate::Machine::restore), for [`interrupts_off`].
#[inline]
pub fn restore(interrupts: u64) {
    // SAFETY: this restores the interrupts that were on before.
    unsafe { asm!("msr daif, {}", in(reg) interrupts, options(nostack)) };
}

/// [`Machine::serialise`](crate::Machine::serialise).
#[inline]
pub fn serialise() {
    // SAFETY: this changes no memory.
    unsafe { asm!("isb", options(nostack)) };
}

/// [`Machine::clean`](crate::Machine::clean): all CPUs of the inner shareable domain then fetch the written bytes. One cache line is enough, because
/// a site lies in one line.
#[inline]
pub fn clean(address: usize, alias: usize) {
    // SAFETY: cleaning caches changes no memory.
    unsafe {
        asm!("dc cvau, {}", "dsb ish", "ic ivau, {}", "dsb ish", in(reg) alias, in(reg) address, options(nostack));
    }
}

/// [`Machine::now`](crate::Machine::now): reads the generic timer's counter, which runs at the frequency that firmware has put into `CNTFRQ_EL0`.
#[must_use]
pub fn now() -> Duration {
    let (ticks, frequency): (u64, u64);
    // SAFETY: this reads registers.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) ticks, out(reg) frequency, options(nostack))
    };
    let hertz = frequency.max(1);
    Duration::new(ticks / hertz, (ticks % hertz * 1_000_000_000 / hertz) as u32)
}
