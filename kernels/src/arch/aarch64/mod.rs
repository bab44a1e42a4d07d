//! QEMU's `virt`, two cores at EL1, with a GICv2.

use core::arch::{asm, global_asm};

use jumplabel_kernel::aarch64;

use crate::memory::{STACK, STACKS};

#[path = "../arm_board/cores.rs"]
mod cores;
#[path = "../arm_board/gic.rs"]
mod gic;
mod paging;
#[path = "../arm_board/tables.rs"]
mod tables;

pub use cores::map;
use cores::{first, other};
pub use gic::{interrupt, put, wait};
pub use jumplabel_kernel::aarch64::{interrupts_off, restore, serialise};
use paging::translate;
pub use tables::alias;

global_asm!(
    ".pushsection .text.start, \"ax\", %progbits",
    ".globl start",
    "start: adrp x0, __bss",
    "add x0, x0, :lo12:__bss",
    "adrp x1, __bss_end",
    "add x1, x1, :lo12:__bss_end",
    "0: stp xzr, xzr, [x0], #16",
    "cmp x0, x1",
    "b.lo 0b",
    "adrp x0, {stacks}",
    "mov x1, #{stack}",
    "add x0, x0, x1",
    "mov sp, x0",
    "b {first}",
    ".globl start_other",
    "start_other: adrp x0, {stacks}",
    "mov x1, #2 * {stack}",
    "add x0, x0, x1",
    "mov sp, x0",
    "b {other}",
    // The entry saves the registers that a Rust function may change, and continues at the address that the function returns. x0 is 1 for an
    // interrupt.
    "trap_entry: stp x2, x3, [sp, #16]",
    "stp x4, x5, [sp, #32]",
    "stp x6, x7, [sp, #48]",
    "stp x8, x9, [sp, #64]",
    "stp x10, x11, [sp, #80]",
    "stp x12, x13, [sp, #96]",
    "stp x14, x15, [sp, #112]",
    "stp x16, x17, [sp, #128]",
    "stp x18, x30, [sp, #144]",
    "mrs x1, esr_el1",
    "mrs x2, elr_el1",
    "bl {trap}",
    "msr elr_el1, x0",
    "ldp x2, x3, [sp, #16]",
    "ldp x4, x5, [sp, #32]",
    "ldp x6, x7, [sp, #48]",
    "ldp x8, x9, [sp, #64]",
    "ldp x10, x11, [sp, #80]",
    "ldp x12, x13, [sp, #96]",
    "ldp x14, x15, [sp, #112]",
    "ldp x16, x17, [sp, #128]",
    "ldp x18, x30, [sp, #144]",
    "ldp x0, x1, [sp], #160",
    "eret",
    // There are four groups of four vectors. Only the second group, for exceptions at this level, is used. The vectors of a group are: synchronous
    // exceptions, interrupts, and two others.
    ".balign 2048",
    "vectors:",
    ".rept 8",
    ".balign 128",
    "stp x0, x1, [sp, #-160]!",
    "mov x0, #0",
    "b trap_entry",
    ".balign 128",
    "stp x0, x1, [sp, #-160]!",
    "mov x0, #1",
    "b trap_entry",
    ".endr",
    ".popsection",
    stacks = sym STACKS,
    stack = const STACK,
    first = sym first,
    other = sym other,
    trap = sym trap,
);

unsafe extern "C" {
    fn start_other();
    static vectors: u8;
}

/// Ends QEMU, through semihosting.
pub fn exit(status: u32) -> ! {
    const EXIT_EXTENDED: u64 = 0x20;
    let application_exit = [0x2_0026, u64::from(status)];
    loop {
        // SAFETY: the call ends QEMU. It only reads `application_exit`.
        unsafe { asm!("hlt #0xf000", in("x0") EXIT_EXTENDED, in("x1") &application_exit, options(nostack)) };
    }
}

pub fn cpu() -> usize {
    let affinity: usize;
    // SAFETY: this only reads a register.
    unsafe { asm!("mrs {}, mpidr_el1", out(reg) affinity, options(nomem, nostack, preserves_flags)) };
    affinity & 0xff
}

/// Starts the other core, by PSCI, the firmware's interface for power.
pub fn start_other_cpu() {
    const CPU_ON: usize = 0xc400_0003;
    let (target, entry) = (1 - cpu(), start_other as *const () as usize);
    let error: i64;
    // SAFETY: the call follows the firmware's convention.
    unsafe {
        asm!("hvc #0", inlateout("x0") CPU_ON => error, in("x1") target, in("x2") entry, in("x3") 0, clobber_abi("C"));
    }
    assert!(error == 0);
}

/// Makes a write reach the instruction caches of all cores.
pub fn clean(address: usize, alias: usize, _bytes: usize) {
    aarch64::clean(address, alias);
}

pub fn nanoseconds() -> u64 {
    aarch64::now().as_nanos() as u64
}

/// An instruction that no site may hold, for a test that puts it there.
pub const FOREIGN: [u8; 4] = 0xd420_0020_u32.to_le_bytes(); // brk #1

/// Causes a fault, whose handler runs with interrupts off.
pub fn fault() {
    // SAFETY: the handler keeps all registers, and continues after the instruction.
    unsafe { asm!("brk #0", options(nostack)) };
}

extern "C" fn trap(is_interrupt: u64, syndrome: u64, address: usize) -> usize {
    const BREAKPOINT: u64 = 0x3c;
    const DATA_ABORT: u64 = 0x25;
    match syndrome >> 26 {
        _ if is_interrupt != 0 => {
            // The interrupt is acknowledged before the handler looks for an order, so that a later order interrupts again.
            gic::acknowledge();
            crate::interrupted();
            address
        }
        BREAKPOINT => {
            crate::faulted();
            address + 4
        }
        DATA_ABORT if crate::stored_to_text() => address + 4,
        _ => panic!("exception {syndrome:#x} at {address:#x}"),
    }
}

fn trap_on() {
    // SAFETY: this installs the handlers above.
    unsafe { asm!("msr vbar_el1, {}", "isb", in(reg) &raw const vectors, options(nostack)) };
    gic::begin();
    // SAFETY: this turns interrupts on. Their handlers are installed above.
    unsafe { asm!("msr daifclr, #2", options(nostack)) };
}

/// Stores to text at an address where that is not allowed.
pub fn store_to_text(address: usize) {
    // SAFETY: the store faults and changes nothing, and the handler continues after it.
    unsafe { asm!("strb wzr, [{}]", in(reg) address, options(nostack)) };
}
