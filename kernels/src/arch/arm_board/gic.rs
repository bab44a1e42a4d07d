//! QEMU's `virt` of Arm: the interrupt controller, a GICv2, and the UART. AArch64 and Armv7-A have the same.

use core::arch::asm;

/// Prints by the UART.
pub fn put(byte: u8) {
    // SAFETY: its data register, which is mapped.
    unsafe { (0x0900_0000 as *mut u8).write_volatile(byte) }
}

/// A register of the interrupt controller: the distributor, and from 0x10000 on this core's interface.
fn controller(offset: usize) -> *mut u32 {
    (0x0800_0000 + offset) as *mut u32
}

/// The controller is on, and this core's interface is, for all priorities.
pub fn begin() {
    // SAFETY: its registers.
    unsafe {
        controller(0).write_volatile(1);
        controller(0x1_0004).write_volatile(0xff);
        controller(0x1_0000).write_volatile(1);
    }
}

/// A software-generated interrupt.
pub fn interrupt(cpu: usize) {
    // SAFETY: what was stored before is seen by whom it interrupts; a register.
    unsafe {
        asm!("dsb ish", options(nostack));
        controller(0xf00).write_volatile(1 << (16 + cpu) | 1);
    }
}

/// The interrupt that is pending is not any more.
pub fn acknowledge() {
    const NONE: u32 = 1020;
    // SAFETY: registers of this core.
    unsafe {
        let number = controller(0x1_000c).read_volatile();
        if number & 0x3ff < NONE {
            controller(0x1_0010).write_volatile(number);
        }
    }
}

/// With interrupts off, until one comes. An order that is given between the caller's look and this leaves its interrupt pending.
pub fn wait() {
    // SAFETY: changes nothing.
    unsafe { asm!("wfi", options(nostack)) };
    acknowledge();
}
