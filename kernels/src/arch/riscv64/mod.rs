//! QEMU's `virt`, two harts in S-mode above OpenSBI.

use core::arch::{asm, global_asm};

use jumplabel_kernel::riscv;

use crate::memory::{STACK, STACKS};

mod paging;

pub use jumplabel_kernel::riscv::{interrupts_off, nanoseconds, restore, sbi as interrupt, serialise, wait};
pub use paging::{alias, map};

// Each hart keeps its number in tp. QEMU begins at the lowest address of the image, whatever the image's entry is. The second hart begins there, too:
// OpenSBI 1.1 may start a hart before it has stored the address that was asked for. So `started` tells the second hart from the first.
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
    // The entry saves the registers that a Rust function may change, and continues at the address that the function returns.
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

/// Calls the firmware. Returns 0 if it succeeded.
fn firmware(extension: usize, function: usize, arguments: [usize; 3]) -> isize {
    let error;
    // SAFETY: the call follows the SBI's convention.
    unsafe {
        asm!("ecall", inlateout("a0") arguments[0] => error, inlateout("a1") arguments[1] => _, in("a2") arguments[2],
             in("a6") function, in("a7") extension, options(nostack));
    }
    error
}

/// Prints a byte, through the UART.
pub fn put(byte: u8) {
    // SAFETY: this is the UART's data register, which is mapped.
    unsafe { (0x1000_0000 as *mut u8).write_volatile(byte) }
}

/// Ends QEMU, through the test device.
pub fn exit(status: u32) -> ! {
    let word = if status == 0 { 0x5555 } else { status << 16 | 0x3333 };
    loop {
        // SAFETY: this is the test device's register, which is mapped.
        unsafe { (0x10_0000 as *mut u32).write_volatile(word) };
    }
}

pub fn cpu() -> usize {
    riscv::tp()
}

/// Starts the other hart.
pub fn start_other_cpu() {
    const HART_STATE_MANAGEMENT: usize = 0x48_534d;
    assert!(firmware(HART_STATE_MANAGEMENT, 0, [1 - cpu(), start as *const () as usize, 0]) == 0);
}

/// Makes all stores visible to the instruction fetches of harts that serialise from now on.
pub fn clean(_address: usize, _alias: usize, _bytes: usize) {
    // SAFETY: fences change no memory.
    unsafe { asm!("fence rw, rw", options(nostack)) };
}

/// An instruction that no site may hold, for a test that puts it there.
pub const FOREIGN: [u8; 4] = 0x0010_0073_u32.to_le_bytes(); // ebreak

/// Causes a fault, whose handler runs with interrupts off.
pub fn fault() {
    // SAFETY: the handler keeps all registers, and continues after the instruction.
    unsafe { asm!(".option push", ".option norvc", "ebreak", ".option pop", options(nostack)) };
}

extern "C" fn trap(cause: usize, address: usize) -> usize {
    const SOFTWARE_INTERRUPT: usize = 1 << 63 | 1;
    match cause {
        SOFTWARE_INTERRUPT => {
            // The interrupt is cleared before the handler looks for an order, so that a later order interrupts again.
            let _ = riscv::acknowledge();
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
    // SAFETY: this installs the handler above, and turns on software interrupts only.
    unsafe {
        asm!("csrw stvec, {}", "csrs sie, {}", "csrsi sstatus, 2", in(reg) trap_entry as *const () as usize, in(reg) 2);
    }
}

/// Stores to text at an address where that is not allowed. The handler skips the instruction, which has four bytes.
pub fn store_to_text(address: usize) {
    // SAFETY: the store faults and changes nothing, and the handler continues after it.
    unsafe {
        asm!(".option push", ".option norvc", "sb zero, 0({})", ".option pop", in(reg) address, options(nostack));
    }
}
