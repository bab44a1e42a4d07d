//! Ready-made functions for the [`Machine`](crate::Machine) of a kernel on RISC-V. Take those whose conditions your kernel meets.
//! `docs/kernels.md` has a whole kernel without firmware that uses them.
//!
//! In a kernel without firmware, machine mode gets the interrupts of the timer and the interrupts of other harts (*requests*). It forwards both to
//! supervisor mode as the same software interrupt:
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

/// The value of the register `tp`, where many kernels keep the hart's number. [`acknowledge`] and [`wait`] require that.
#[inline]
#[must_use]
pub fn tp() -> usize {
    let number;
    // SAFETY: the instruction only reads a register.
    unsafe { asm!("mv {}, tp", out(reg) number, options(nomem, nostack, preserves_flags)) };
    number
}

/// [`Machine::interrupts_off`](crate::Machine::interrupts_off): clears the bit `SIE` of `sstatus`. Returns that bit as it was.
#[inline]
#[must_use]
pub fn interrupts_off() -> u64 {
    let status: usize;
    // SAFETY: the instruction clears `sstatus.SIE` only. The caller restores it with `restore`.
    unsafe { asm!("csrrci {}, sstatus, 2", out(reg) status, options(nostack)) };
    status as u64 & 2
}

/// [`Machine::restore`](crate::Machine::restore), for [`interrupts_off`].
#[inline]
pub fn restore(interrupts: u64) {
    // SAFETY: the instruction sets `sstatus.SIE` only, and only if `interrupts_off` found it set.
    unsafe { asm!("csrs sstatus, {}", in(reg) interrupts as usize & 2, options(nostack)) };
}

/// [`Machine::serialise`](crate::Machine::serialise) by `fence.i` (the manual's chapter "Zifencei"). Each hart executes the `fence.i` itself, so a
/// kernel on RISC-V needs no [`clean`](crate::Machine::clean).
#[inline]
pub fn serialise() {
    // SAFETY: fences change neither memory nor registers.
    unsafe { asm!("fence rw, rw", "fence.i", options(nostack)) };
}

/// [`Machine::now`](crate::Machine::now) by `rdtime`, whose timer is assumed to run at 10 MHz, as in QEMU's `virt`. If a board's timer is faster or
/// slower, [`patience`](crate::Machine::patience) ends sooner or later by that factor. Machine mode must allow `rdtime` (`mcounteren`).
#[inline]
#[must_use]
pub fn now() -> Duration {
    Duration::from_nanos(nanoseconds())
}

/// The time that [`now`] returns, in nanoseconds.
#[inline]
#[must_use]
pub fn nanoseconds() -> u64 {
    ticks().wrapping_mul(100)
}

#[cfg(target_arch = "riscv64")]
#[inline]
fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: the instruction only reads a counter.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// The timer's counter. Reads its upper half before and after the lower one, and tries again if the two values differ.
#[cfg(target_arch = "riscv32")]
#[inline]
fn ticks() -> u64 {
    loop {
        let (upper, lower, again): (u32, u32, u32);
        // SAFETY: the instructions only read a counter.
        unsafe {
            asm!("rdtimeh {}", "rdtime {}", "rdtimeh {}", out(reg) upper, out(reg) lower, out(reg) again, options(nomem, nostack));
        }
        if upper == again {
            return u64::from(upper) << 32 | u64::from(lower);
        }
    }
}

/// [`Machine::interrupt`](crate::Machine::interrupt) by the firmware (SBI, the extension IPI). CPU numbers must be hart numbers. The firmware's
/// error is ignored: if it sends no interrupt, the flip waits in vain and is refused.
pub fn sbi(hart: usize) {
    // SAFETY: the call follows the SBI's calling convention: arguments in `a0`, `a1`, `a6`, `a7`, and only `a0` and `a1` are overwritten.
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
    // SAFETY: the kernel has mapped the controller, as the conditions above demand, so the store sets the hart's request and nothing else. The fences
    // make earlier stores visible before the interrupt.
    unsafe {
        asm!("fence rw, w", "fence w, o", "sw {one}, ({request})", one = in(reg) 1, request = in(reg) request, options(nostack))
    };
}

/// For each hart, 1 if its timer has interrupted since its last [`acknowledge`]. The handler in machine mode sets it.
#[doc(hidden)]
#[unsafe(export_name = "jumplabel_riscv_ticked_")]
pub static TICKED: [AtomicU8; 64] = [const { AtomicU8::new(0) }; 64];

/// Clears the software interrupt. Returns true if this hart's timer has interrupted since the last call; there may be a request as well. The handler
/// calls this before it calls [`answer`](crate::Kernel::answer), so that a request that comes in between interrupts again. `tp` must hold the hart's
/// number.
#[inline]
#[must_use]
pub fn acknowledge() -> bool {
    // SAFETY: the instruction clears the pending bit of the software interrupt only. The handler looks for the causes afterwards, so none is lost.
    unsafe { asm!("csrci sip, 2", options(nostack)) };
    TICKED[tp() & 63].swap(0, Ordering::Relaxed) != 0
}

/// [`Machine::wait`](crate::Machine::wait): sleeps until an interrupt comes. Clears the software interrupt if it was only a request; keeps it pending
/// if the timer has interrupted. `tp` must hold the hart's number.
pub fn wait() {
    // SAFETY: the instructions wait for an interrupt, and clear the pending bit of the software interrupt. The caller looks for an order afterwards,
    // so no request is lost.
    unsafe { asm!("wfi", "csrci sip, 2", options(nostack)) };
    if TICKED[tp() & 63].load(Ordering::Relaxed) != 0 {
        // SAFETY: the instruction makes the software interrupt pending again. Its handler runs as soon as interrupts are on, and finds the tick.
        unsafe { asm!("csrsi sip, 2", options(nostack)) };
    }
}

/// Sets up machine mode on the hart that calls: traps of machine mode lead to `entry`, requests of other harts interrupt, and supervisor mode may
/// read the time. [`forward_requests!`](crate::forward_requests) makes the function `entry`.
///
/// # Safety
/// Call it in machine mode, on each hart. `entry` must be the address of the function that the macro made, and `mscratch` must be as the macro says.
#[inline]
pub unsafe fn forward(entry: usize) {
    // SAFETY: the caller guarantees that this runs in machine mode, and that `entry` is a handler of its traps.
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
            // `a1` gets twice the interrupt's code: the shift drops the bit that marks an interrupt. Code 3 is a request, code 7 a tick.
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
            // The fence orders the store that clears the request before the loads that look for an order. Otherwise the store might clear a request
            // that came after these loads.
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
