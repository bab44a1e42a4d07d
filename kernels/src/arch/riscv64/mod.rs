//! QEMU's `virt`, two harts in S-mode above OpenSBI.

use core::arch::{asm, global_asm};

use crate::memory::{STACK, STACKS};

mod paging;

pub use paging::{alias, map};

// Each hart keeps its number in tp. QEMU starts at the lowest address of the image, whatever its entry says. Both harts begin there, and the
// first one tells the other: OpenSBI 1.1 may let a hart go before it has stored where to, and then that is where the first one began.
global_asm!(
    ".pushsection .data.started, \"aw\", %progbits",
    ".balign 4",
    "started: .word 0",
    ".popsection",
    ".pushsection .text.start, \"ax\", %progbits",
    ".globl start",
    "start: la t0, started",
    "li t1, 1",
    "amoswap.w t1, t1, (t0)",
    "bnez t1, 1f",
    "mv tp, a0",
    "la t0, __bss",
    "la t1, __bss_end",
    "0: sd zero, (t0)",
    "addi t0, t0, 8",
    "bltu t0, t1, 0b",
    "la sp, {stacks} + {stack}",
    "tail {first}",
    "1: mv tp, a0",
    "la sp, {stacks} + 2 * {stack}",
    "tail {other}",
    // Saves what a function of Rust's may change, and goes on where that function says.
    ".balign 4",
    ".globl trap_entry",
    "trap_entry: addi sp, sp, -128",
    ".irp number, 0,1,2,3,4,5,6,7; sd a\\number, 8 * \\number(sp); .endr",
    ".irp number, 0,1,2,3,4,5,6; sd t\\number, 64 + 8 * \\number(sp); .endr",
    "sd ra, 120(sp)",
    "csrr a0, scause",
    "csrr a1, sepc",
    "call {trap}",
    "csrw sepc, a0",
    ".irp number, 0,1,2,3,4,5,6,7; ld a\\number, 8 * \\number(sp); .endr",
    ".irp number, 0,1,2,3,4,5,6; ld t\\number, 64 + 8 * \\number(sp); .endr",
    "ld ra, 120(sp)",
    "addi sp, sp, 128",
    "sret",
    ".popsection",
    stacks = sym STACKS,
    stack = const STACK,
    first = sym first,
    other = sym other,
    trap = sym trap,
);

unsafe extern "C" {
    fn start();
    fn trap_entry();
}

extern "C" fn first() -> ! {
    trap_on();
    crate::first()
}

extern "C" fn other() -> ! {
    map();
    trap_on();
    crate::other()
}

/// A call of the firmware; 0 if it was done.
fn firmware(extension: usize, function: usize, arguments: [usize; 3]) -> isize {
    let error;
    // SAFETY: the convention of the SBI.
    unsafe {
        asm!("ecall", inlateout("a0") arguments[0] => error, inlateout("a1") arguments[1] => _, in("a2") arguments[2],
             in("a6") function, in("a7") extension, options(nostack));
    }
    error
}

/// Prints by the UART.
pub fn put(byte: u8) {
    // SAFETY: its data register, which is mapped.
    unsafe { (0x1000_0000 as *mut u8).write_volatile(byte) }
}

/// Ends QEMU by the test device.
pub fn exit(status: u32) -> ! {
    let word = if status == 0 { 0x5555 } else { status << 16 | 0x3333 };
    loop {
        // SAFETY: its register, which is mapped.
        unsafe { (0x10_0000 as *mut u32).write_volatile(word) };
    }
}

pub fn cpu() -> usize {
    let cpu;
    // SAFETY: nobody else uses tp.
    unsafe { asm!("mv {}, tp", out(reg) cpu, options(nomem, nostack, preserves_flags)) };
    cpu
}

/// Starts the other hart.
pub fn start_other_cpu() {
    const HART_STATE_MANAGEMENT: usize = 0x48_534d;
    assert!(firmware(HART_STATE_MANAGEMENT, 0, [1 - cpu(), start as *const () as usize, 0]) == 0);
}

/// A software interrupt.
pub fn interrupt(cpu: usize) {
    const INTERRUPTS: usize = 0x73_5049;
    assert!(firmware(INTERRUPTS, 0, [1 << cpu, 0, 0]) == 0);
}

/// With interrupts off, until one comes. An order that is given between the caller's look and this leaves its interrupt pending.
pub fn wait() {
    // SAFETY: clears a software interrupt.
    unsafe { asm!("wfi", "csrci sip, 2", options(nostack)) };
}

pub fn interrupts_off() -> u64 {
    let status: u64;
    // SAFETY: the caller turns them on again.
    unsafe { asm!("csrrci {}, sstatus, 2", out(reg) status, options(nostack)) };
    status & 2
}

pub fn restore(interrupts: u64) {
    // SAFETY: as they were.
    unsafe { asm!("csrs sstatus, {}", in(reg) interrupts, options(nostack)) };
}

/// What was stored to memory before is what this hart fetches behind it.
pub fn serialise() {
    // SAFETY: changes nothing.
    unsafe { asm!("fence rw, rw", "fence.i", options(nostack)) };
}

/// The fetches of a hart that serialises see all stores.
pub fn clean(_address: usize, _alias: usize, _bytes: usize) {
    // SAFETY: changes nothing.
    unsafe { asm!("fence rw, rw", options(nostack)) };
}

pub fn nanoseconds() -> u64 {
    let ticks: u64;
    // SAFETY: a counter of 10 MHz.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks * 100
}

/// What no check may hold: an instruction that is none of a site's.
pub const FOREIGN: [u8; 4] = 0x0010_0073_u32.to_le_bytes(); // ebreak

/// Runs the handler of a fault, with interrupts off.
pub fn fault() {
    // SAFETY: the handler goes on behind it.
    unsafe { asm!(".option push", ".option norvc", "ebreak", ".option pop", options(nostack)) };
}

extern "C" fn trap(cause: usize, address: usize) -> usize {
    const SOFTWARE_INTERRUPT: usize = 1 << 63 | 1;
    match cause {
        SOFTWARE_INTERRUPT => {
            // SAFETY: cleared before the order is looked at: the next one interrupts again.
            unsafe { asm!("csrci sip, 2", options(nostack)) };
            crate::interrupted();
            address
        }
        3 => {
            crate::faulted();
            address + 4
        }
        15 if crate::stored_to_text() => address + 4,
        _ => panic!("trap {cause:#x} at {address:#x}"),
    }
}

fn trap_on() {
    // SAFETY: the handler above; software interrupts only.
    unsafe {
        asm!("csrw stvec, {}", "csrs sie, {}", "csrsi sstatus, 2", in(reg) trap_entry as *const () as usize, in(reg) 2);
    }
}

/// Stores to text, where that is not allowed. Four bytes long, for the handler.
pub fn store_to_text(address: usize) {
    // SAFETY: the handler goes on behind it, and nothing was stored.
    unsafe {
        asm!(".option push", ".option norvc", "sb zero, 0({})", ".option pop", in(reg) address, options(nostack));
    }
}
