//! Ready-made functions for the [`Machine`](crate::Machine) of a kernel on RISC-V (64 bits), for kernels that are as each function says. Take those
//! that fit. `docs/kernels.md` has a whole kernel without firmware that uses them.
//!
//! A kernel without firmware: machine mode has the timer's interrupts and those of other harts, and supervisor mode gets both as one.
//!
//! ```text
//!   another hart: clint(hart) ─► its request ─┐        ┌─ a request: cleared ─────────────────┐
//!                                             ├─ entry ┤                                      ├─► software interrupt
//!   the timer ────────────────────────────────┘        └─ a tick: noted ─► the kernel's own ──┘     └─► acknowledge
//! ```

use core::arch::asm;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use core::time::Duration;

use jumplabel::Refusal;

/// The number that this hart keeps in `tp`. That it is the hart's number is a custom of many kernels, and that of [`acknowledge`].
#[inline]
#[must_use]
pub fn tp() -> usize {
    let number;
    // SAFETY: it reads a register.
    unsafe { asm!("mv {}, tp", out(reg) number, options(nomem, nostack, preserves_flags)) };
    number
}

/// [`Machine::interrupts_off`](crate::Machine::interrupts_off): `sstatus.SIE`.
#[inline]
#[must_use]
pub fn interrupts_off() -> u64 {
    let status: u64;
    // SAFETY: it turns interrupts off, and the caller turns them on again.
    unsafe { asm!("csrrci {}, sstatus, 2", out(reg) status, options(nostack)) };
    status & 2
}

/// [`Machine::restore`](crate::Machine::restore), for [`interrupts_off`].
#[inline]
pub fn restore(interrupts: u64) {
    // SAFETY: it turns interrupts on if they were on before.
    unsafe { asm!("csrs sstatus, {}", in(reg) interrupts & 2, options(nostack)) };
}

/// [`Machine::serialise`](crate::Machine::serialise). All other harts do the same, so no `clean` is needed: `fence.i` of the manual's chapter
/// "Zifencei".
#[inline]
pub fn serialise() {
    // SAFETY: fences change no memory.
    unsafe { asm!("fence rw, rw", "fence.i", options(nostack)) };
}

/// [`Machine::now`](crate::Machine::now), by `rdtime`, at the 10 MHz of QEMU's `virt`. On a board whose time runs at another frequency, a
/// [`patience`](crate::Machine::patience) is as much shorter or longer. Machine mode must allow it (`mcounteren`).
#[inline]
#[must_use]
pub fn now() -> Duration {
    Duration::from_nanos(nanoseconds())
}

/// [`now`], in nanoseconds.
#[inline]
#[must_use]
pub fn nanoseconds() -> u64 {
    let ticks: u64;
    // SAFETY: it reads a counter.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks.wrapping_mul(100)
}

/// [`Machine::interrupt`](crate::Machine::interrupt), by the firmware (SBI, the extension IPI). The numbers of CPUs are those of harts.
pub fn sbi(hart: usize) {
    // SAFETY: the call follows the SBI's convention. It is of no use to know its error: the flip then waits in vain, and says so.
    unsafe {
        asm!("fence rw, rw", "ecall", inlateout("a0") 1_usize => _, inlateout("a1") hart => _, in("a6") 0, in("a7") 0x73_5049, options(nostack));
    }
}

/// [`Machine::interrupt`](crate::Machine::interrupt) without firmware: the request of a hart in the interrupt controller at 0x2000000 (CLINT, as
/// QEMU's `virt` has it), which the kernel has mapped at that address. Machine mode forwards it ([`forward_requests!`](crate::forward_requests)).
/// The numbers of CPUs are those of harts.
#[inline]
pub fn clint(hart: usize) {
    let request = (0x200_0000 + 4 * hart) as *mut u32;
    // SAFETY: this is the register of that hart's request, which is mapped. What was stored before is there before the interrupt.
    unsafe {
        asm!("fence rw, w", "fence w, o", "sw {one}, ({request})", one = in(reg) 1, request = in(reg) request, options(nostack))
    };
}

/// Whether the timer of each hart has come since its last [`acknowledge`]. Machine mode sets it.
#[doc(hidden)]
#[unsafe(export_name = "jumplabel_riscv_ticked_")]
pub static TICKED: [AtomicU8; 64] = [const { AtomicU8::new(0) }; 64];

/// Clears the software interrupt. The handler calls this before it calls [`answer`](crate::Kernel::answer): a request that comes in between
/// interrupts again. Returns true if the timer of this hart has come, and not only a request. `tp` must have the hart's number.
#[inline]
#[must_use]
pub fn acknowledge() -> bool {
    // SAFETY: it clears an interrupt, before anybody looks at what it was for.
    unsafe { asm!("csrci sip, 2", options(nostack)) };
    TICKED[tp() & 63].swap(0, Ordering::Relaxed) != 0
}

/// [`Machine::wait`](crate::Machine::wait): sleeps until an interrupt comes, and clears it, if it was the software interrupt of a request. The
/// timer's stays.
pub fn wait() {
    // SAFETY: it waits for an interrupt and then clears it. The caller looks for an order afterwards.
    unsafe { asm!("wfi", "csrci sip, 2", options(nostack)) };
    if TICKED[tp() & 63].load(Ordering::Relaxed) != 0 {
        // SAFETY: the handler of the timer's interrupt runs as soon as interrupts are on.
        unsafe { asm!("csrsi sip, 2", options(nostack)) };
    }
}

/// [`Machine::map`](crate::Machine::map) and [`Machine::unmap`](crate::Machine::unmap), for a kernel whose text can be written nowhere: while a
/// write lasts, a free entry of the root table maps the memory around the text a second time, to read and write (Sv39, Sv48, Sv57). No page of
/// memory is needed, and no address is taken for good.
///
/// What it assumes: entries that are 0 are free; the root table that this hart uses (`satp`) can be written where `tables` says; nobody uses
/// addresses that a free entry stands for, so other harts may know an old translation there; without translation, text can be written where it is.
/// While a write lasts, all of the memory that an entry stands for (Sv39: 1 GiB) can be written there.
pub struct Window {
    text: usize,
    tables: usize,
}

impl Window {
    /// `text` is what must be subtracted from an address of text to have the physical one; `tables` is what must be added to the physical
    /// address of a table to have one where it can be written. Both are 0 in a kernel that runs at its physical addresses.
    #[must_use]
    pub const fn new(text: usize, tables: usize) -> Window {
        Window { text, tables }
    }

    /// The root table, and the bits of an address below its entries. `None` if there is no translation.
    fn root(&self) -> Result<Option<(&[AtomicU64; 512], u32)>, Refusal> {
        let satp: usize;
        // SAFETY: it reads a register.
        unsafe { asm!("csrr {}, satp", out(reg) satp, options(nomem, nostack)) };
        let bits = match satp >> 60 {
            0 => return Ok(None),
            mode @ 8..=10 => 30 + 9 * (mode as u32 - 8),
            _ => return Err(Refusal::errno(NO_SYSTEM)),
        };
        let root = ((satp & ((1 << 44) - 1)) << 12).wrapping_add(self.tables);
        // SAFETY: the hart uses this table, and the caller of `new` says where it can be written. Others may write it meanwhile.
        Ok(Some((unsafe { &*(root as *const [AtomicU64; 512]) }, bits)))
    }

    /// [`Machine::map`](crate::Machine::map).
    ///
    /// # Errors
    /// No entry of the root table is free (ENOMEM), or this mode of translation is unknown (ENOSYS).
    pub fn open(&self, address: usize) -> Result<usize, Refusal> {
        let Some((root, bits)) = self.root()? else { return Ok(address) };
        let physical = address.wrapping_sub(self.text);
        let below = physical & ((1 << bits) - 1);
        let leaf = (physical - below) as u64 >> 2 | 0xc7; // dirty, accessed, writable, readable, valid
        // From the last but one on: behind the last, addresses end.
        let free = |&at: &usize| root[at].compare_exchange(0, leaf, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let at = (1..511).rev().find(free).ok_or(Refusal::errno(NO_MEMORY))?;
        let unused = usize::BITS - 9 - bits; // An address has the highest of its bits once more in all above.
        let alias = ((at << bits << unused).cast_signed() >> unused).cast_unsigned() | below;
        forget(alias);
        Ok(alias)
    }

    /// [`Machine::unmap`](crate::Machine::unmap).
    pub fn close(&self, alias: usize) {
        if let Ok(Some((root, bits))) = self.root() {
            root[alias >> bits & 511].store(0, Ordering::Release);
            forget(alias);
        }
    }
}

/// The error numbers ENOMEM and ENOSYS.
const NO_MEMORY: i32 = 12;
const NO_SYSTEM: i32 = 38;

fn forget(alias: usize) {
    // SAFETY: this hart forgets the translation of an address that only the writer uses.
    unsafe { asm!("sfence.vma {}, zero", in(reg) alias, options(nostack)) };
}

/// Machine mode, on each hart, once `mscratch` is set: the traps of machine mode lead to `entry` ([`forward_requests!`](crate::forward_requests)).
/// Requests of other harts interrupt, and supervisor mode may read the time.
///
/// # Safety
/// It runs in machine mode. `entry` is the address of what the macro made, and `mscratch` is as the macro says.
#[inline]
pub unsafe fn forward(entry: usize) {
    // SAFETY: the caller says that this runs in machine mode, and what `entry` is.
    unsafe {
        asm!("csrw mtvec, {}", "csrs mie, {}", "csrs mcounteren, {}", in(reg) entry, in(reg) 8, in(reg) 2, options(nostack));
    }
}

/// Makes the function `$entry`, for `mtvec` ([`riscv::forward`](crate::riscv::forward)). It clears requests of other harts, and forwards them as
/// software interrupts of supervisor mode. All else goes on to `$next`, the kernel's own handler in machine mode, as if it came there: there each
/// tick becomes a software interrupt as well; it is noted before.
///
/// `mscratch` must point to a memory of this hart whose first 16 bytes `$next` does not need when it begins: handlers save registers there. `$next`
/// must lie within 1 MiB.
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
            "sd a1, 0(a0)",
            "sd a2, 8(a0)",
            "csrr a1, mcause",
            "bgez a1, 2f",
            // The whole code of the interrupt, twice: the shift drops the bit that says that it is one. 3: a request; 7: a tick.
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
            // The hart looks for a request only after the clearing has arrived. Otherwise the clearing could take a later request away.
            "fence o, r",
            "csrsi mip, 2",
            "ld a1, 0(a0)",
            "ld a2, 8(a0)",
            "csrrw a0, mscratch, a0",
            "mret",
            "2: ld a1, 0(a0)",
            "ld a2, 8(a0)",
            "csrrw a0, mscratch, a0",
            concat!("j ", $next),
            ".option pop",
            ".popsection",
        );
    };
}
