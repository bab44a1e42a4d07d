//! Ready-made functions for the [`Machine`](crate::Machine) of a kernel on AArch64 that runs in EL1. In a higher exception level, all but [`now`]
//! work as well. Take those that fit your kernel.

use core::arch::asm;
use core::time::Duration;

/// [`Machine::interrupts_off`](crate::Machine::interrupts_off): turns off IRQs only. Returns the bits of `DAIF` as they were.
#[inline]
#[must_use]
pub fn interrupts_off() -> u64 {
    let mask: u64;
    // SAFETY: the instructions write `DAIF` only. The caller restores it with `restore`.
    unsafe { asm!("mrs {}, daif", "msr daifset, #2", out(reg) mask, options(nostack)) };
    mask
}

/// [`Machine::restore`](crate::Machine::restore), for [`interrupts_off`].
#[inline]
pub fn restore(interrupts: u64) {
    // SAFETY: the instruction writes `DAIF` only, with the bits that `interrupts_off` returned.
    unsafe { asm!("msr daif, {}", in(reg) interrupts, options(nostack)) };
}

/// [`Machine::serialise`](crate::Machine::serialise).
#[inline]
pub fn serialise() {
    // SAFETY: `isb` changes neither memory nor registers.
    unsafe { asm!("isb", options(nostack)) };
}

/// [`Machine::clean`](crate::Machine::clean): from then on, all CPUs of the inner shareable domain fetch the written bytes. It cleans one cache line,
/// because a site lies in one line.
#[inline]
pub fn clean(address: usize, alias: usize) {
    // SAFETY: cleaning caches changes no memory.
    unsafe {
        asm!("dc cvau, {}", "dsb ish", "ic ivau, {}", "dsb ish", in(reg) alias, in(reg) address, options(nostack));
    }
}

/// [`Machine::now`](crate::Machine::now): the time by the generic timer's virtual counter. The firmware has put the counter's frequency into
/// `CNTFRQ_EL0`.
#[must_use]
pub fn now() -> Duration {
    let (ticks, frequency): (u64, u64);
    // SAFETY: the instructions only read registers.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) ticks, out(reg) frequency, options(nostack))
    };
    let hertz = frequency.max(1);
    Duration::new(ticks / hertz, (ticks % hertz * 1_000_000_000 / hertz) as u32)
}
