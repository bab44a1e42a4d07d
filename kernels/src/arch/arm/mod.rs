//! QEMU's `virt` with Armv7-A, two cores in supervisor mode, with a GICv2.

use core::arch::{asm, global_asm};

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
use paging::translate;
pub use tables::alias;

global_asm!(
    ".pushsection .text.start, \"ax\", %progbits",
    ".arm",
    ".globl start",
    "start: movw r0, #:lower16:__bss",
    "movt r0, #:upper16:__bss",
    "movw r1, #:lower16:__bss_end",
    "movt r1, #:upper16:__bss_end",
    "mov r2, #0",
    "0: str r2, [r0], #4",
    "cmp r0, r1",
    "blo 0b",
    "movw sp, #:lower16:{stacks}",
    "movt sp, #:upper16:{stacks}",
    "add sp, sp, #{stack}",
    "b {first}",
    ".globl start_other",
    "start_other: movw sp, #:lower16:{stacks}",
    "movt sp, #:upper16:{stacks}",
    "add sp, sp, #2 * {stack}",
    "b {other}",
    // An entry saves on the stack of supervisor mode: the return address, the flags, and the registers that a Rust function may change. It calls
    // `trap` with the vector's number in r0 and a stack aligned to 8 bytes, and continues at the address that `trap` returns.
    ".macro entry behind, number",
    "sub lr, lr, #\\behind",
    "srsdb sp!, #19",
    "cps #19",
    "push {{r0-r3, r12, lr}}",
    "mov r0, #\\number",
    "b trap_entry",
    ".endm",
    "trap_entry: ldr r1, [sp, #24]",
    "and r2, sp, #4",
    "sub sp, sp, r2",
    "push {{r2, r3}}",
    "bl {trap}",
    "pop {{r2, r3}}",
    "add sp, sp, r2",
    "str r0, [sp, #24]",
    "pop {{r0-r3, r12, lr}}",
    "clrex",
    "rfeia sp!",
    ".balign 32",
    "vectors: b .",
    "b 1f",
    "b .",
    "b 3f",
    "b 4f",
    "b .",
    "b 6f",
    "b .",
    "1: entry 4, 1",
    "3: entry 4, 3",
    "4: entry 8, 4",
    "6: entry 4, 6",
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
    const EXIT_EXTENDED: usize = 0x20;
    let application_exit = [0x2_0026, status];
    loop {
        // SAFETY: the call ends QEMU. It only reads `application_exit`.
        unsafe { asm!("svc #0x123456", in("r0") EXIT_EXTENDED, in("r1") &application_exit, options(nostack)) };
    }
}

pub fn cpu() -> usize {
    let affinity: usize;
    // SAFETY: this only reads a register.
    unsafe { asm!("mrc p15, 0, {}, c0, c0, 5", out(reg) affinity, options(nomem, nostack, preserves_flags)) };
    affinity & 0xff
}

/// Starts the other core, by PSCI, the firmware's interface for power.
pub fn start_other_cpu() {
    const CPU_ON: usize = 0x8400_0003;
    let (target, entry) = (1 - cpu(), start_other as *const () as usize);
    let error: i32;
    // SAFETY: the call follows the firmware's convention. The word is `hvc #0`, which the assembler knows only for some processors.
    unsafe {
        asm!(".inst 0xe1400070", inlateout("r0") CPU_ON => error, inlateout("r1") target => _, inlateout("r2") entry => _,
             inlateout("r3") 0 => _, out("r12") _, options(nostack));
    }
    assert!(error == 0);
}

/// Makes this core forget instructions that it has fetched ahead.
pub fn serialise() {
    // SAFETY: a barrier changes no memory.
    unsafe { asm!("isb", options(nostack)) };
}

pub fn interrupts_off() -> u64 {
    let flags: u32;
    // SAFETY: this turns interrupts off, and the caller turns them on again.
    unsafe { asm!("mrs {}, cpsr", "cpsid i", out(reg) flags, options(nostack)) };
    u64::from(flags & 1 << 7)
}

pub fn restore(interrupts: u64) {
    if interrupts == 0 {
        // SAFETY: interrupts were on before the matching `interrupts_off`.
        unsafe { asm!("cpsie i", options(nostack)) };
    }
}

/// Makes a write reach the instruction caches of all cores, and makes them forget predictions of a branch that was there. One cache line is enough,
/// because a site lies in one.
pub fn clean(address: usize, alias: usize, _bytes: usize) {
    // SAFETY: cleaning caches changes no memory. DCCMVAU, ICIMVAU, BPIALLIS.
    unsafe {
        asm!("mcr p15, 0, {alias}, c7, c11, 1", "dsb ish", "mcr p15, 0, {address}, c7, c5, 1", "mcr p15, 0, {zero}, c7, c1, 6", "dsb ish",
             alias = in(reg) alias, address = in(reg) address, zero = in(reg) 0, options(nostack));
    }
}

pub fn nanoseconds() -> u64 {
    let (low, high, frequency): (u32, u32, u32);
    // SAFETY: this only reads registers: CNTVCT, CNTFRQ.
    unsafe {
        asm!("isb", "mrrc p15, 1, {}, {}, c14", "mrc p15, 0, {}, c14, c0, 0", out(reg) low, out(reg) high, out(reg) frequency,
             options(nostack));
    }
    (u128::from(u64::from(high) << 32 | u64::from(low)) * 1_000_000_000 / u128::from(frequency)) as u64
}

/// An instruction that no site may hold, for a test that puts it there.
pub const FOREIGN: [u8; 4] = 0xe120_0070_u32.to_le_bytes(); // bkpt #0

/// Causes a fault, whose handler runs with interrupts off.
pub fn fault() {
    // SAFETY: the handler keeps all registers, and continues after the instruction.
    unsafe { asm!("udf #0", options(nostack)) };
}

extern "C" fn trap(vector: u32, address: usize) -> usize {
    const UNDEFINED: u32 = 1;
    const DATA_ABORT: u32 = 4;
    const INTERRUPT: u32 = 6;
    match vector {
        INTERRUPT => {
            // The interrupt is acknowledged before the handler looks for an order, so that a later order interrupts again.
            gic::acknowledge();
            crate::interrupted();
            address
        }
        UNDEFINED => {
            crate::faulted();
            address + 4
        }
        DATA_ABORT if crate::stored_to_text() => address + 4,
        _ => panic!("exception {vector} at {address:#x}"),
    }
}

fn trap_on() {
    // SAFETY: this installs the handlers above.
    unsafe { asm!("mcr p15, 0, {}, c12, c0, 0", "isb", in(reg) &raw const vectors, options(nostack)) };
    gic::begin();
    // SAFETY: this turns interrupts on. Their handlers are installed above.
    unsafe { asm!("cpsie i", options(nostack)) };
}

/// Stores to text at an address where that is not allowed.
pub fn store_to_text(address: usize) {
    // SAFETY: the store faults and changes nothing, and the handler continues after it.
    unsafe { asm!("strb {0}, [{0}]", in(reg) address, options(nostack)) };
}
