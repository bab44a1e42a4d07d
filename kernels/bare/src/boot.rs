//! Machine mode: the way from reset to supervisor mode, and the interrupts that machine mode forwards.
//!
//! ```text
//!   timer, of this hart  ─► TICKED = 1, the next one is set ─┐
//!   request, of another  ─► it is cleared ───────────────────┴─► software interrupt of supervisor mode
//! ```

use core::arch::{asm, global_asm};
use core::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{AcqRel, Relaxed, Release},
};

use crate::hart::{self, HARTS};
use crate::stacks::{STACK, STACKS};
use crate::supervisor_mode;

/// QEMU's interrupt controller: one word for each hart, by which other harts request it; the moment of each hart's next timer; the time.
const REQUESTS: usize = 0x200_0000;
const TIMERS: usize = 0x200_4000;
const TIME: usize = 0x200_bff8;
/// A millisecond, at 10 MHz.
const TICK: usize = 10_000;

/// The data of each hart's handler in machine mode: three registers that it saves, its timer, its request, and whether the timer has come.
static OF_HANDLER: [[AtomicUsize; 6]; HARTS] = [const { [const { AtomicUsize::new(0) }; 6] }; HARTS];

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
    "machine_entry: csrrw a0, mscratch, a0",
    "sd a1, 0(a0)",
    "sd a2, 8(a0)",
    "csrr a1, mcause",
    "andi a1, a1, 7",
    "li a2, 7",
    "bne a1, a2, 1f",
    "ld a1, 24(a0)", // the timer
    "sd a3, 16(a0)",
    "ld a2, (a1)",
    "li a3, {tick}",
    "add a2, a2, a3",
    "sd a2, (a1)",
    "ld a3, 16(a0)",
    "li a2, 1",
    "sd a2, 40(a0)",
    "j 2f",
    "1: ld a1, 32(a0)", // a request
    "sw zero, (a1)",
    "2: csrsi mip, 2",
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
    mine[4].store(REQUESTS + 4 * hart, Relaxed);
    // SAFETY: this writes registers of this hart. Supervisor mode gets all memory, its own interrupts and all exceptions. It also gets the time, by
    // `rdtime`, which would be an exception without `mcounteren`. Floating point is off, because nothing here uses its registers.
    unsafe {
        (timer as *mut usize).write_volatile((TIME as *const usize).read_volatile() + TICK);
        asm!(
            "csrw pmpaddr0, {all}", "csrw pmpcfg0, {open}", "csrw mcounteren, {time}",
            "csrw medeleg, {exceptions}", "csrw mideleg, {interrupts}",
            "csrw mscratch, {mine}", "csrw mtvec, {entry}", "csrw mie, {forwarded}",
            "csrw satp, zero", "csrc mstatus, {mode}", "csrs mstatus, {supervisor}", "csrw mepc, {next}", "mret",
            all = in(reg) usize::MAX >> 10, open = in(reg) 0xf, time = in(reg) 2,
            exceptions = in(reg) 0xffff, interrupts = in(reg) 0x222,
            mine = in(reg) mine, entry = in(reg) &raw const machine_entry, forwarded = in(reg) 0x88,
            mode = in(reg) 3 << 11 | 3 << 13, supervisor = in(reg) 1 << 11, next = in(reg) supervisor_mode as *const () as usize,
            options(noreturn),
        );
    }
}

/// True if the timer of this hart has come.
pub fn ticked() -> bool {
    OF_HANDLER[hart::number()][5].swap(0, Relaxed) != 0
}

/// True if another hart wants this one to stand still. The interrupt alone does not say that.
static REQUESTED: [AtomicBool; HARTS] = [const { AtomicBool::new(false) }; HARTS];

/// Interrupts another hart, after it has set the flag.
pub fn request(hart: usize) {
    REQUESTED[hart].store(true, Release);
    // SAFETY: this is the register of that hart's request, which is mapped.
    unsafe { ((REQUESTS + 4 * hart) as *mut u32).write_volatile(1) };
}

/// True if this hart was requested.
pub fn requested() -> bool {
    REQUESTED[hart::number()].swap(false, AcqRel)
}
