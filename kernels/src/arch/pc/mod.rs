//! QEMU's PC, two CPUs, each with a local APIC: in 64-bit mode, or in 32-bit mode.

use core::arch::asm;
#[cfg(target_arch = "x86")]
use core::arch::x86::{__cpuid, _rdtsc};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__cpuid, _rdtsc};
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
pub use paging::{alias, map};

extern "C" fn first() -> ! {
    // SAFETY: no interrupt of a device.
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

/// This CPU has a number, and interrupts of the other one get through.
fn begin(cpu: usize) {
    boot::set_cpu(cpu);
    traps::handle();
    // SAFETY: there are handlers. Bit 8: this APIC is on.
    unsafe {
        apic(0xf0).write_volatile(0x100 | SPURIOUS);
        asm!("sti", options(nostack));
    }
}

/// # Safety
/// By what the device does then.
unsafe fn out(port: u16, value: u8) {
    // SAFETY: the caller's.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nostack)) };
}

/// Prints by the UART, whose speed does not matter here.
pub fn put(byte: u8) {
    // SAFETY: its data register.
    unsafe { out(0x3f8, byte) };
}

/// Ends QEMU by the device isa-debug-exit. QEMU's own status is 33 for 0, and never 0.
pub fn exit(status: u32) -> ! {
    loop {
        // SAFETY: ends here.
        unsafe { out(0xf4, 0x10 | status as u8) };
    }
}

/// A register of this CPU's interrupt controller.
fn apic(offset: usize) -> *mut u32 {
    (0xfee0_0000 + offset) as *mut u32
}

/// Has the other CPU's controller do something.
fn command(cpu: usize, command: u32) {
    // SAFETY: registers, with interrupts off: nobody comes between the two.
    unsafe {
        apic(0x310).write_volatile((cpu as u32) << 24);
        apic(0x300).write_volatile(command);
        while apic(0x300).read_volatile() & 1 << 12 != 0 {}
    }
}

/// Where the other CPU begins: a page below 1 MiB that nobody uses.
const LOW: usize = 0x8000;
/// Puts the trampoline there.
fn put_trampoline() {
    unsafe extern "C" {
        static trampoline: u8;
        static trampoline_end: u8;
    }
    let (from, end) = (&raw const trampoline, &raw const trampoline_end);
    // SAFETY: the page is nobody's.
    unsafe { copy_nonoverlapping(from, LOW as *mut u8, end as usize - from as usize) };
}

/// Starts the other CPU: reset, 10 ms, the page where it begins. Old ones had to be told twice.
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

/// What [`interrupt`] sends.
const INTERRUPT: u32 = 48;
/// What comes if an interrupt went away.
const SPURIOUS: u32 = 47;

/// An interrupt of the number that the handler waits for.
pub fn interrupt(cpu: usize) {
    command(cpu, INTERRUPT);
}

/// The controller may deliver the next interrupt. Then, whether this one is for `crate::interrupted`.
fn acknowledge() -> bool {
    // SAFETY: a register.
    unsafe { apic(0xb0).write_volatile(0) };
    !WAITS[cpu()].load(Relaxed)
}

/// Says where the CPU goes on.
extern "C" fn trap(vector: u32, error: usize, address: usize) -> usize {
    const BREAKPOINT: u32 = 3;
    const PAGE_FAULT: u32 = 14;
    const WRITE_TO_READ_ONLY: usize = 3;
    match vector {
        INTERRUPT => {
            // Before the order is looked at: the next one interrupts again.
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

/// Whether a CPU is in [`wait`]: its handler has nothing to do then but to end it.
static WAITS: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

/// With interrupts off, until one comes. An order that is given between the caller's look and this leaves its interrupt pending:
/// `sti` lets it through only when `hlt` has begun.
pub fn wait() {
    let waits = &WAITS[cpu()];
    waits.store(true, Relaxed);
    // SAFETY: the handler returns at once.
    unsafe { asm!("sti", "hlt", "cli") };
    waits.store(false, Relaxed);
}

pub fn interrupts_off() -> u64 {
    let flags: usize;
    // SAFETY: the caller turns them on again.
    #[cfg(target_arch = "x86")]
    unsafe {
        asm!("pushfd", "pop {}", "cli", out(reg) flags)
    };
    // SAFETY: the caller turns them on again.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("pushfq", "pop {}", "cli", out(reg) flags)
    };
    flags as u64 & 1 << 9
}

pub fn restore(interrupts: u64) {
    if interrupts != 0 {
        // SAFETY: as they were.
        unsafe { asm!("sti", options(nostack)) };
    }
}

/// What this CPU has fetched ahead is forgotten.
pub fn serialise() {
    let _ = __cpuid(0);
}

/// Fetches see stores.
pub fn clean(_address: usize, _alias: usize, _bytes: usize) {}

/// How often this CPU counts in a millisecond.
static SPEED: AtomicU64 = AtomicU64::new(0);

pub fn nanoseconds() -> u64 {
    // SAFETY: every x86-64 has this counter.
    let ticks = unsafe { _rdtsc() };
    (u128::from(ticks) * 1_000_000 / u128::from(SPEED.load(Relaxed))) as u64
}

/// How fast the CPU counts, by the HPET: its second word has the femtoseconds of a tick.
fn measure_clock() {
    let register = |offset: usize| (0xfed0_0000 + offset) as *mut u32;
    // SAFETY: its registers: the period, whether it runs, the low half of its count.
    unsafe {
        let period = u64::from(register(4).read_volatile());
        register(0x10).write_volatile(1);
        let count = || register(0xf0).read_volatile();
        let (ticks, start) = (_rdtsc(), count());
        while u64::from(count().wrapping_sub(start)) * period < 10_000_000_000_000 {}
        SPEED.store((_rdtsc() - ticks) / 10, Relaxed);
    }
}

/// What no check may hold: an instruction that is none of a site's.
pub const FOREIGN: [u8; 4] = [0xcc; 4]; // int3

/// Runs the handler of a fault, with interrupts off.
pub fn fault() {
    // SAFETY: the handler goes on behind it.
    unsafe { asm!("int3", options(nostack)) };
}

/// Stores to text, where that is not allowed. Three bytes long, for the handler.
pub fn store_to_text(address: usize) {
    // SAFETY: the handler goes on behind it, and nothing was stored.
    unsafe { asm!("mov byte ptr [{}], 0", in(reg_abcd) address, options(nostack)) };
}
