//! Machine mode: the way from reset to supervisor mode, and this kernel's own handler there, which turns ticks of the timer into software interrupts
//! of supervisor mode. The library's handler runs before it, and forwards the requests of other harts.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jumplabel_kernel::{forward_requests, riscv};

use crate::hart::{self, HARTS};
use crate::stacks::{STACK, STACKS};
use crate::supervisor_mode;

/// Registers of QEMU's interrupt controller: `TIMERS` holds the time of each hart's next tick, `TIME` the present time.
const TIMERS: usize = 0x200_4000;
const TIME: usize = 0x200_bff8;
/// The time between two ticks: a millisecond at 10 MHz.
const TICK: usize = 10_000;

/// The memory of each hart's handler in machine mode: three saved registers, and the address of its timer's register.
static OF_HANDLER: [[AtomicUsize; 4]; HARTS] = [const { [const { AtomicUsize::new(0) }; 4] }; HARTS];

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
    "sd a1, 0(a0)",
    "sd a2, 8(a0)",
    "sd a3, 16(a0)",
    "ld a1, 24(a0)",
    "ld a2, (a1)",
    "li a3, {tick}",
    "add a2, a2, a3",
    "sd a2, (a1)",
    "csrsi mip, 2",
    "ld a3, 16(a0)",
    "ld a1, 0(a0)",
    "ld a2, 8(a0)",
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

/// Prepares supervisor mode, on each hart.
extern "C" fn begin() -> ! {
    let hart = hart::number();
    let mine = &OF_HANDLER[hart];
    let timer = TIMERS + 8 * hart;
    mine[3].store(timer, Relaxed);
    // SAFETY: this writes only registers of this hart, and its own timer. Supervisor mode may then use all memory, and handles its own interrupts and
    // all exceptions. Floating point stays off, because nothing here uses its registers.
    unsafe {
        (timer as *mut usize).write_volatile((TIME as *const usize).read_volatile() + TICK);
        asm!(
            "csrw pmpaddr0, {all}", "csrw pmpcfg0, {open}",
            "csrw medeleg, {exceptions}", "csrw mideleg, {interrupts}", "csrw mscratch, {mine}", "csrw mie, {timer}", "csrw satp, zero",
            all = in(reg) usize::MAX >> 10, open = in(reg) 0xf, exceptions = in(reg) 0xffff, interrupts = in(reg) 0x222,
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
