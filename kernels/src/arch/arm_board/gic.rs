//! The interrupt controller, a GICv2, and the UART of QEMU's `virt` for Arm. They are the same for AArch64 and Armv7-A.

use core::arch::asm;

/// Prints a byte, through the UART.
pub fn put(byte: u8) {
    // SAFETY: this is the UART's data register, which is mapped.
    unsafe { (0x0900_0000 as *mut u8).write_volatile(byte) }
}

/// A register of the interrupt controller. Registers of the distributor are below 0x10000, those of this core's interface above.
fn controller(offset: usize) -> *mut u32 {
    (0x0800_0000 + offset) as *mut u32
}

/// Turns the controller on, and this core's interface for all priorities.
pub fn begin() {
    // SAFETY: these are the controller's registers, which are mapped.
    unsafe {
        controller(0).write_volatile(1);
        controller(0x1_0004).write_volatile(0xff);
        controller(0x1_0000).write_volatile(1);
    }
}

/// Sends a software-generated interrupt.
pub fn interrupt(cpu: usize) {
    // SAFETY: this writes a register of the controller, which is mapped. The barrier lets the other core see earlier stores.
    unsafe {
        asm!("dsb ish", options(nostack));
        controller(0xf00).write_volatile(1 << (16 + cpu) | 1);
    }
}

/// Acknowledges the interrupt that is pending.
pub fn acknowledge() {
    const NONE: u32 = 1020;
    // SAFETY: these are registers of this core's interface, which are mapped.
    unsafe {
        let number = controller(0x1_000c).read_volatile();
        if number & 0x3ff < NONE {
            controller(0x1_0010).write_volatile(number);
        }
    }
}

/// Waits, with interrupts off, until an interrupt comes. If an order is given after the caller has looked for one, but before this wait, its
/// interrupt stays pending and ends the wait.
pub fn wait() {
    // SAFETY: a wait changes nothing.
    unsafe { asm!("wfi", options(nostack)) };
    acknowledge();
}
