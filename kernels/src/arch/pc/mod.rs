//! QEMU's PC with two CPUs, each of which has a local APIC, in 64-bit or in 32-bit mode.

use core::arch::asm;
#[cfg(target_arch = "x86")]
use core::arch::x86::_rdtsc;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::_rdtsc;
use core::ptr::copy_nonoverlapping;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[cfg_attr(target_arch = "x86", path = "../x86/boot.rs")]
#[cfg_attr(target_arch = "x86_64", path = "../x86_64/boot.rs")]
mod boot;
#[cfg(target_arch = "x86")]
#[path = "../x86/bytes.rs"]
mod bytes;
#[cfg_attr(target_arch = "x86", path = "../x86/paging.rs")]
#[cfg_attr(target_arch = "x86_64", path = "../x86_64/paging.rs")]
mod paging;
#[cfg_attr(target_arch = "x86", path = "../x86/traps.rs")]
#[cfg_attr(target_arch = "x86_64", path = "../x86_64/traps.rs")]
mod traps;

pub use boot::cpu;
pub use jumplabel_kernel::x86::{interrupts_off, restore, serialise};
pub use paging::{alias, map};

extern "C" fn first() -> ! {
    // SAFETY: this turns off the interrupts of devices.
    unsafe {
        out(0x21, 0xff);
        out(0xa1, 0xff);
    }
    measure_clock();
    begin(0);
    crate::first()
}

extern "C" fn other() -> ! {
    paging::of_other_cpu();
    begin(1);
    crate::other()
}

/// Gives this CPU its number, and lets interrupts of the other CPU through.
fn begin(cpu: usize) {
    boot::set_cpu(cpu);
    traps::handle();
    // SAFETY: the handlers are installed. Bit 8 turns this APIC on.
    unsafe {
        apic(0xf0).write_volatile(0x100 | SPURIOUS);
        asm!("sti", options(nostack));
    }
}

/// Writes `value` to an I/O port.
///
/// # Safety
/// The write makes the device do only what the caller intends.
unsafe fn out(port: u16, value: u8) {
    // SAFETY: the caller guarantees what the device does.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nostack)) };
}

/// Prints a byte, through the UART. The UART's speed is not set, because QEMU ignores it.
pub fn put(byte: u8) {
    // SAFETY: the port is the UART's data register.
    unsafe { out(0x3f8, byte) };
}

/// Ends QEMU, through the device isa-debug-exit. QEMU's own exit status is never 0; it is 33 if `status` is 0.
pub fn exit(status: u32) -> ! {
    loop {
        // SAFETY: the write ends QEMU.
        unsafe { out(0xf4, 0x10 | status as u8) };
    }
}

/// A register of this CPU's interrupt controller.
fn apic(offset: usize) -> *mut u32 {
    (0xfee0_0000 + offset) as *mut u32
}

/// Makes this CPU's controller send a command to the CPU `cpu`.
fn command(cpu: usize, command: u32) {
    // SAFETY: these are registers of the controller. Interrupts are off, so nothing comes between the two writes.
    unsafe {
        apic(0x310).write_volatile((cpu as u32) << 24);
        apic(0x300).write_volatile(command);
        while apic(0x300).read_volatile() & 1 << 12 != 0 {}
    }
}

/// The address at which the other CPU begins: a page below 1 MiB that nobody else uses.
const LOW: usize = 0x8000;
/// Copies the trampoline, the code with which the other CPU begins, to that page.
fn put_trampoline() {
    unsafe extern "C" {
        static trampoline: u8;
        static trampoline_end: u8;
    }
    let (from, end) = (&raw const trampoline, &raw const trampoline_end);
    // SAFETY: nobody else uses the page.
    unsafe { copy_nonoverlapping(from, LOW as *mut u8, end as usize - from as usize) };
}

/// Starts the other CPU: resets it, waits 10 ms, and tells it the page to begin at. (Only very old CPUs need the last command twice.)
pub fn start_other_cpu() {
    const RESET: u32 = 0x4500;
    const START: u32 = 0x4600 | (LOW >> 12) as u32;
    put_trampoline();
    let interrupts = interrupts_off();
    command(1 - cpu(), RESET);
    let reset = nanoseconds();
    while nanoseconds() - reset < 10_000_000 {}
    command(1 - cpu(), START);
    restore(interrupts);
}

/// The vector of the interrupts that [`interrupt`] sends.
const INTERRUPT: u32 = 48;
/// The vector that the controller uses if an interrupt has gone away before it was handled.
const SPURIOUS: u32 = 47;

/// Interrupts a CPU.
pub fn interrupt(cpu: usize) {
    command(cpu, INTERRUPT);
}

/// Lets the controller deliver the next interrupt. Returns whether `crate::interrupted` must be called, because this CPU was not in [`wait`].
fn acknowledge() -> bool {
    // SAFETY: this is a register of the controller, which is mapped.
    unsafe { apic(0xb0).write_volatile(0) };
    !WAITS[cpu()].load(Relaxed)
}

/// Handles an interrupt or a fault. Returns the address at which the CPU continues.
extern "C" fn trap(vector: u32, error: usize, address: usize) -> usize {
    const BREAKPOINT: u32 = 3;
    const PAGE_FAULT: u32 = 14;
    const WRITE_TO_READ_ONLY: usize = 3;
    match vector {
        INTERRUPT => {
            // The interrupt is acknowledged before the handler looks for an order, so that a later order interrupts again.
            if acknowledge() {
                crate::interrupted();
            }
            address
        }
        SPURIOUS => address,
        BREAKPOINT => {
            crate::faulted();
            address
        }
        PAGE_FAULT if error & 3 == WRITE_TO_READ_ONLY && crate::stored_to_text() => address + 3,
        _ => panic!("exception {vector}, {error:#x}, at {address:#x}"),
    }
}

/// True while a CPU is in [`wait`]. Then the handler of its interrupt only has to return.
static WAITS: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

/// Waits, with interrupts off, until an interrupt comes. If an order is given after the caller has looked for one, but before this wait, its
/// interrupt stays pending and ends the wait, because `sti` takes effect only after the next instruction, `hlt`.
pub fn wait() {
    let waits = &WAITS[cpu()];
    waits.store(true, Relaxed);
    // SAFETY: interrupts are on only for the wait, and the handler returns at once.
    unsafe { asm!("sti", "hlt", "cli") };
    waits.store(false, Relaxed);
}

/// Does nothing: on this machine, instruction fetches see stores.
pub fn clean(_address: usize, _alias: usize, _bytes: usize) {}

/// The number of ticks that this CPU counts in a millisecond.
static SPEED: AtomicU64 = AtomicU64::new(0);

pub fn nanoseconds() -> u64 {
    // SAFETY: this only reads the time-stamp counter, which QEMU's CPUs have.
    let ticks = unsafe { _rdtsc() };
    (u128::from(ticks) * 1_000_000 / u128::from(SPEED.load(Relaxed))) as u64
}

/// Measures how fast this CPU's counter runs, with the HPET, whose second word is the length of a tick in femtoseconds.
fn measure_clock() {
    let register = |offset: usize| (0xfed0_0000 + offset) as *mut u32;
    // SAFETY: these are registers of the HPET: the length of a tick, the switch that makes it run, the low half of its count.
    unsafe {
        let period = u64::from(register(4).read_volatile());
        register(0x10).write_volatile(1);
        let count = || register(0xf0).read_volatile();
        let (ticks, start) = (_rdtsc(), count());
        while u64::from(count().wrapping_sub(start)) * period < 10_000_000_000_000 {}
        SPEED.store((_rdtsc() - ticks) / 10, Relaxed);
    }
}

/// An instruction that no site may hold, for a test that puts it there.
pub const FOREIGN: [u8; 4] = [0xcc; 4]; // int3

/// Causes a fault, whose handler runs with interrupts off.
pub fn fault() {
    // SAFETY: the handler keeps all registers, and continues after the instruction.
    unsafe { asm!("int3", options(nostack)) };
}

/// Stores to text at an address where that is not allowed. The handler skips the instruction, which has three bytes.
pub fn store_to_text(address: usize) {
    // SAFETY: the store faults and changes nothing, and the handler continues after it.
    unsafe { asm!("mov byte ptr [{}], 0", in(reg_abcd) address, options(nostack)) };
}
