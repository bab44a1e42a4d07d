//! Machine mode: the way from reset to supervisor mode, and this kernel's own handler in machine mode, which turns ticks of the timer into software
//! interrupts of supervisor mode. The library's handler runs before that handler, and forwards the requests of other harts.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jumplabel_kernel::{forward_requests, riscv};

use crate::hart::{self, HARTS, REGISTER, register};
use crate::stacks::{STACK, STACKS};
use crate::supervisor_mode;

/// Registers of QEMU's interrupt controller, of 64 bits each: the time of each hart's next tick.
const TIMERS: usize = 0x200_4000;
/// The time between two ticks: a millisecond at 10 MHz.
const TICK: u64 = 10_000;

/// The memory of the handler in machine mode, for each hart: three saved registers and the address of the hart's timer, in places of 8 bytes.
static OF_HANDLER: [[AtomicUsize; 32 / REGISTER]; HARTS] =
    [const { [const { AtomicUsize::new(0) }; 32 / REGISTER] }; HARTS];

/// Adds `tick` to the timer's register at a1. This changes a2 and a3.
#[cfg(target_arch = "riscv64")]
macro_rules! next_tick {
    () => {
        "ld a2, (a1); li a3, {tick}; add a2, a2, a3; sd a2, (a1)"
    };
}
/// The same, one half after the other. Between the two stores the time may be wrong, but no interrupt of the timer is taken before machine mode ends.
#[cfg(target_arch = "riscv32")]
macro_rules! next_tick {
    () => {
        "lw a2, (a1); li a3, {tick}; add a3, a2, a3; sltu a2, a3, a2; sw a3, (a1); lw a3, 4(a1); add a3, a3, a2; sw a3, 4(a1)"
    };
}

/// The highest address of memory, shifted by two. Physical addresses have 56 bits on riscv64, and 34 bits on riscv32.
const ALL: usize = if REGISTER == 8 { usize::MAX >> 10 } else { usize::MAX };

forward_requests!("machine_entry", "timer_entry");

global_asm!(
    ".pushsection .text.start, \"ax\", %progbits",
    ".globl start",
    "start: csrr tp, mhartid",
    "addi t0, tp, 1",
    "slli t0, t0, 13",
    "la sp, {stacks}",
    "add sp, sp, t0",
    "tail {begin}",
    ".balign 4",
    "timer_entry: csrrw a0, mscratch, a0",
    concat!(register!(store), " a1, 0(a0)"),
    concat!(register!(store), " a2, 8(a0)"),
    concat!(register!(store), " a3, 16(a0)"),
    concat!(register!(load), " a1, 24(a0)"),
    next_tick!(),
    "csrsi mip, 2",
    concat!(register!(load), " a3, 16(a0)"),
    concat!(register!(load), " a1, 0(a0)"),
    concat!(register!(load), " a2, 8(a0)"),
    "csrrw a0, mscratch, a0",
    "mret",
    ".popsection",
    stacks = sym STACKS,
    begin = sym begin,
    tick = const TICK,
);
const _: () = assert!(STACK == 4096, "the shift above is by two of them");

unsafe extern "C" {
    static machine_entry: u8;
}

/// Ends the ticks of this hart's timer. A tick that came before may be pending.
pub fn stop_timer() {
    let timer = (TIMERS + 8 * hart::number()) as *mut u32;
    // SAFETY: this is the upper half of the register of this hart's timer, which is mapped. The handler in machine mode interrupts this hart either
    // before the store or after it, and adds to both halves.
    unsafe { timer.add(1).write_volatile(u32::MAX >> 1) };
}

/// Prepares supervisor mode, on each hart.
extern "C" fn begin() -> ! {
    let hart = hart::number();
    let mine = &OF_HANDLER[hart];
    let timer = TIMERS + 8 * hart;
    mine[24 / REGISTER].store(timer, Relaxed);
    // SAFETY: this writes only registers of this hart, and its own timer. Supervisor mode may then use all memory, and handles its own interrupts and
    // all exceptions. Floating point stays off, because nothing here uses its registers.
    unsafe {
        (timer as *mut u64).write_volatile(riscv::nanoseconds() / 100 + TICK);
        asm!(
            "csrw pmpaddr0, {all}", "csrw pmpcfg0, {open}",
            "csrw medeleg, {exceptions}", "csrw mideleg, {interrupts}", "csrw mscratch, {mine}", "csrw mie, {timer}", "csrw satp, zero",
            all = in(reg) ALL, open = in(reg) 0xf, exceptions = in(reg) 0xffff, interrupts = in(reg) 0x222,
            mine = in(reg) mine, timer = in(reg) 0x80,
        );
        riscv::forward(&raw const machine_entry as usize);
        asm!(
            "csrc mstatus, {mode}", "csrs mstatus, {supervisor}", "csrw mepc, {next}", "mret",
            mode = in(reg) 3 << 11 | 3 << 13, supervisor = in(reg) 1 << 11, next = in(reg) supervisor_mode as *const () as usize,
            options(noreturn),
        );
    }
}
