//! The handler of the interrupt that the timer and other harts share.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use jumplabel::{static_branch_unlikely, static_key};
use jumplabel_kernel::riscv;

use crate::hart::{self, HARTS, register};
use crate::machine;

global_asm!(
    ".pushsection .text, \"ax\", %progbits",
    ".balign 4",
    "trap_entry: addi sp, sp, -128",
    concat!(".irp number, 0,1,2,3,4,5,6,7; ", register!(store), " a\\number, 8 * \\number(sp); .endr"),
    concat!(".irp number, 0,1,2,3,4,5,6; ", register!(store), " t\\number, 64 + 8 * \\number(sp); .endr"),
    concat!(register!(store), " ra, 120(sp)"),
    "csrr a0, scause",
    "csrr a1, sepc",
    "call {trap}",
    concat!(".irp number, 0,1,2,3,4,5,6,7; ", register!(load), " a\\number, 8 * \\number(sp); .endr"),
    concat!(".irp number, 0,1,2,3,4,5,6; ", register!(load), " t\\number, 64 + 8 * \\number(sp); .endr"),
    concat!(register!(load), " ra, 120(sp)"),
    "addi sp, sp, 128",
    "sret",
    ".popsection",
    trap = sym trap,
);

unsafe extern "C" {
    static trap_entry: u8;
}

/// Installs the handler, and turns software interrupts on.
pub fn on() {
    // SAFETY: this installs the handler above.
    unsafe {
        asm!("csrw stvec, {}", "csrs sie, {}", "csrsi sstatus, 2", in(reg) &raw const trap_entry, in(reg) 2);
    }
}

static_key! { pub static TRACE: false; }

/// For each hart: how often its timer has ticked, and how many of these ticks found `TRACE` on.
pub static TICKS: [[AtomicU32; 2]; HARTS] = [const { [const { AtomicU32::new(0) }; 2] }; HARTS];
/// For each hart: how often it has answered in the handler, and after how many of these times it found `TRACE` on.
pub static ANSWERS: [[AtomicU32; 2]; HARTS] = [const { [const { AtomicU32::new(0) }; 2] }; HARTS];

extern "C" fn trap(cause: usize, address: usize) {
    const SOFTWARE_INTERRUPT: usize = 1 << (usize::BITS - 1) | 1;
    assert!(cause == SOFTWARE_INTERRUPT, "trap {cause:#x} at {address:#x}");
    // The interrupt is cleared first, so that a request that comes later interrupts again.
    let ticked = riscv::acknowledge();
    // The code before `answer` may have sites if this hart is online, because it does not stand still yet.
    if ticked {
        tick();
    }
    machine::answer(); // It runs no site, and returns at once if nobody wants this hart to stand still.
    // The code after `answer` may have sites again.
    answered();
}

#[inline(never)]
fn answered() {
    let [all, traced] = &ANSWERS[hart::number()];
    all.fetch_add(1, Relaxed);
    if machine::is_online() && static_branch_unlikely!(TRACE) {
        traced.fetch_add(1, Relaxed);
    }
}

/// The linker puts this function on a page with the same place in the [`window`](crate::window) as the kernel's first page. If a hart kept the old
/// translation of that place, it would write to the wrong page.
#[inline(never)]
#[unsafe(link_section = ".far")]
fn tick() {
    let [all, traced] = &TICKS[hart::number()];
    all.fetch_add(1, Relaxed);
    if machine::is_online() && static_branch_unlikely!(TRACE) {
        traced.fetch_add(1, Relaxed);
    }
}
