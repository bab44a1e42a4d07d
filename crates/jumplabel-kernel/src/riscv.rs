//! Ready-made functions for the [`Machine`](crate::Machine) of a kernel on RISC-V. Take those whose conditions your kernel meets.
//! `docs/kernels.md` has a whole kernel without firmware that uses them.
//!
//! In a kernel without firmware, machine mode gets the interrupts of the timer and of other harts, and hands both to supervisor mode as one:
//!
//! ```text
//!   another hart: clint(hart) ─► its request ─┐        ┌─ a request: cleared ─────────────────┐
//!                                             ├─ entry ┤                                      ├─► software interrupt
//!   the timer ────────────────────────────────┘        └─ a tick: noted ─► the kernel's own ──┘     └─► acknowledge
//! ```

use core::arch::asm;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;

mod window;

pub use window::Window;

/// The number in `tp`. Many kernels keep the hart's number there, and [`acknowledge`] requires it.
#[inline]
#[must_use]
pub fn tp() -> usize {
    let number;
    // SAFETY: this reads a register.
    unsafe { asm!("mv {}, tp", out(reg) number, options(nomem, nostack, preserves_flags)) };
    number
}

/// [`Machine::interrupts_off`](crate::Machine::interrupts_off): `sstatus.SIE`.
#[inline]
#[must_use]
pub fn interrupts_off() -> u64 {
    let status: usize;
    // SAFETY: this turns interrupts off, and the caller turns them on again.
    unsafe { asm!("csrrci {}, sstatus, 2", out(reg) status, options(nostack)) };
    status as u64 & 2
}

/// [`Machine::restore`](crate::Machine::restore), for [`interrupts_off`].
#[inline]
pub fn restore(interrupts: u64) {
    // SAFETY: this turns interrupts on if they were on before.
    unsafe { asm!("csrs sstatus, {}", in(reg) interrupts as usize & 2, options(nostack)) };
}

/// [`Machine::serialise`](crate::Machine::serialise) by `fence.i` (the manual's chapter "Zifencei"). Each hart calls it, so no `clean` is needed.
#[inline]
pub fn serialise() {
    // SAFETY: fences change no memory.
    unsafe { asm!("fence rw, rw", "fence.i", options(nostack)) };
}

/// [`Machine::now`](crate::Machine::now) by `rdtime`, at the 10 MHz of QEMU's `virt`. If a board's timer is faster or slower, a
/// [`patience`](crate::Machine::patience) gets shorter or longer by that factor. Machine mode must allow `rdtime` (`mcounteren`).
#[inline]
#[must_use]
pub fn now() -> Duration {
    Duration::from_nanos(nanoseconds())
}

/// [`now`], in nanoseconds.
#[inline]
#[must_use]
pub fn nanoseconds() -> u64 {
    ticks().wrapping_mul(100)
}

#[cfg(target_arch = "riscv64")]
#[inline]
fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: this reads a counter.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Reads the upper half twice. If both are equal, the lower half belongs to them.
#[cfg(target_arch = "riscv32")]
#[inline]
fn ticks() -> u64 {
    loop {
        let (upper, lower, again): (u32, u32, u32);
        // SAFETY: this reads a counter.
        unsafe {
            asm!("rdtimeh {}", "rdtime {}", "rdtimeh {}", out(reg) upper, out(reg) lower, out(reg) again, options(nomem, nostack));
        }
        if upper == again {
            return u64::from(upper) << 32 | u64::from(lower);
        }
    }
}

/// [`Machine::interrupt`](crate::Machine::interrupt) by the firmware (SBI, the extension IPI). CPU numbers must be hart numbers.
pub fn sbi(hart: usize) {
    // SAFETY: the call follows the SBI's convention. Its error is not looked at: if no interrupt is sent, the flip waits in vain and is refused.
    unsafe {
        asm!("fence rw, rw", "ecall", inlateout("a0") 1_usize => _, inlateout("a1") hart => _, in("a6") 0, in("a7") 0x73_5049, options(nostack));
    }
}

/// [`Machine::interrupt`](crate::Machine::interrupt) without firmware: sets a hart's request in the interrupt controller at 0x2000000 (CLINT, as in
/// QEMU's `virt`). The kernel must have mapped the controller at that address, machine mode must forward requests
/// ([`forward_requests!`](crate::forward_requests)), and CPU numbers must be hart numbers.
#[inline]
pub fn clint(hart: usize) {
    let request = (0x200_0000 + 4 * hart) as *mut u32;
    // SAFETY: this is the register of that hart's request, which is mapped. The fences make earlier stores visible before the interrupt.
    unsafe {
        asm!("fence rw, w", "fence w, o", "sw {one}, ({request})", one = in(reg) 1, request = in(reg) request, options(nostack))
    };
}

/// For each hart: 1 if its timer has interrupted since its last [`acknowledge`]. Machine mode sets it.
#[doc(hidden)]
#[unsafe(export_name = "jumplabel_riscv_ticked_")]
pub static TICKED: [AtomicU8; 64] = [const { AtomicU8::new(0) }; 64];

/// Clears the software interrupt. Returns true if this hart's timer has interrupted, perhaps in addition to a request. The handler calls it before it
/// calls [`answer`](crate::Kernel::answer): a request that comes in between then interrupts again. `tp` must have the hart's number.
#[inline]
#[must_use]
pub fn acknowledge() -> bool {
    // SAFETY: the pending bit is cleared before the handler looks for its causes, so no cause is lost.
    unsafe { asm!("csrci sip, 2", options(nostack)) };
    TICKED[tp() & 63].swap(0, Ordering::Relaxed) != 0
}

/// [`Machine::wait`](crate::Machine::wait): sleeps until an interrupt comes. It clears the interrupt if it was only a request. A tick of the timer
/// stays pending.
pub fn wait() {
    // SAFETY: this waits for an interrupt and then clears it. The caller looks for an order afterwards, so no request is lost.
    unsafe { asm!("wfi", "csrci sip, 2", options(nostack)) };
    if TICKED[tp() & 63].load(Ordering::Relaxed) != 0 {
        // SAFETY: the handler of the timer's interrupt runs as soon as interrupts are on.
        unsafe { asm!("csrsi sip, 2", options(nostack)) };
    }
}

/// Sets up machine mode on each hart, once `mscratch` is set: traps of machine mode lead to `entry` ([`forward_requests!`](crate::forward_requests)),
/// requests of other harts interrupt, and supervisor mode may read the time.
///
/// # Safety
/// It must run in machine mode. `entry` must be the address of the function that the macro made, and `mscratch` must be as the macro says.
#[inline]
pub unsafe fn forward(entry: usize) {
    // SAFETY: the caller guarantees that this runs in machine mode, and that `entry` is a handler for it.
    unsafe {
        asm!("csrw mtvec, {}", "csrs mie, {}", "csrs mcounteren, {}", in(reg) entry, in(reg) 8, in(reg) 2, options(nostack));
    }
}

/// Makes the function `$entry`, a handler of machine mode's traps ([`riscv::forward`](crate::riscv::forward)). It clears requests of other harts, and
/// forwards them as software interrupts of supervisor mode. It hands all other traps to `$next`, the kernel's own handler, with all registers as they
/// were. A tick of the timer is noted first; `$next` must then make it a software interrupt of supervisor mode, too.
///
/// `mscratch` must point to memory of this hart. The macro overwrites its first 16 bytes, so `$next` must not keep anything there from one trap to
/// the next. `$next` must lie within 1 MiB.
#[macro_export]
macro_rules! forward_requests {
    ($entry:literal, $next:literal) => {
        ::core::arch::global_asm!(
            ".pushsection .text, \"ax\", %progbits",
            ".option push",
            ".option norelax",
            ".balign 4",
            concat!(".globl ", $entry),
            concat!($entry, ":"),
            "csrrw a0, mscratch, a0",
            concat!($crate::__register_asm!(store), " a1, 0(a0)"),
            concat!($crate::__register_asm!(store), " a2, 8(a0)"),
            "csrr a1, mcause",
            "bgez a1, 2f",
            // This compares the interrupt's code, shifted by one: the shift drops the bit that marks an interrupt. Code 3 is a request, code 7 a
            // tick.
            "slli a1, a1, 1",
            "addi a1, a1, -6",
            "beqz a1, 1f",
            "addi a1, a1, -8",
            "bnez a1, 2f",
            "csrr a1, mhartid",
            "andi a1, a1, 63",
            "lla a2, jumplabel_riscv_ticked_",
            "add a2, a2, a1",
            "li a1, 1",
            "sb a1, 0(a2)",
            "j 2f",
            "1: csrr a1, mhartid",
            "slli a1, a1, 2",
            "lui a2, 0x2000",
            "add a1, a1, a2",
            "sw zero, 0(a1)",
            // The fence orders the clearing before the loads that look for an order. Otherwise the clearing might remove a request that comes after
            // them.
            "fence o, r",
            "csrsi mip, 2",
            concat!($crate::__register_asm!(load), " a1, 0(a0)"),
            concat!($crate::__register_asm!(load), " a2, 8(a0)"),
            "csrrw a0, mscratch, a0",
            "mret",
            "2:",
            concat!($crate::__register_asm!(load), " a1, 0(a0)"),
            concat!($crate::__register_asm!(load), " a2, 8(a0)"),
            "csrrw a0, mscratch, a0",
            concat!("j ", $next),
            ".option pop",
            ".popsection",
        );
    };
}

/// The instruction that loads or stores a register.
#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_asm {
    (load) => {
        "ld"
    };
    (store) => {
        "sd"
    };
}
#[cfg(target_arch = "riscv32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_asm {
    (load) => {
        "lw"
    };
    (store) => {
        "sw"
    };
}
