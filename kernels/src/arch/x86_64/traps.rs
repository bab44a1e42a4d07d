//! The entries of interrupts and faults, which call [`trap`].

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{boot, trap};

const VECTORS: usize = 49;

global_asm!(
    ".pushsection .text, \"ax\", @progbits",
    // The CPU pushes an error code for some exceptions; this code pushes one for the others.
    ".balign 16",
    "vectors:",
    ".set vector, 0",
    ".rept {vectors}",
    ".balign 16",
    ".if !(0x60227d00 >> vector & 1)",
    "push 0",
    ".endif",
    "push vector",
    "jmp trap_entry",
    ".set vector, vector + 1",
    ".endr",
    // The entry saves the registers that a Rust function may change, and continues at the address that the function returns. Code for this target
    // uses no vector registers.
    "trap_entry: cld",
    ".irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11; push \\register; .endr",
    "mov rdi, [rsp + 72]",
    "mov rsi, [rsp + 80]",
    "mov rdx, [rsp + 88]",
    "call {trap}",
    "mov [rsp + 88], rax",
    ".irp register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax; pop \\register; .endr",
    "add rsp, 16",
    "iretq",
    ".popsection",
    vectors = const VECTORS,
    trap = sym trap,
);

/// The table of handlers.
static HANDLERS: [AtomicU64; 2 * VECTORS] = [const { AtomicU64::new(0) }; 2 * VECTORS];

/// Installs the handlers for this CPU. They run with interrupts off.
pub fn handle() {
    unsafe extern "C" {
        static vectors: [[u8; 16]; VECTORS];
    }
    for (at, [low, high]) in HANDLERS.as_chunks().0.iter().enumerate() {
        const GATE: u64 = 0x8e << 40;
        let handler = (&raw const vectors) as u64 + 16 * at as u64;
        low.store(handler & 0xffff | boot::CODE << 16 | GATE | handler >> 16 << 48, Relaxed);
        high.store(handler >> 32, Relaxed);
    }
    #[repr(C, packed(2))]
    struct Pointer(u16, *const AtomicU64);
    let pointer = Pointer(size_of_val(&HANDLERS) as u16 - 1, HANDLERS.as_ptr());
    // SAFETY: the pointer describes the table above.
    unsafe { asm!("lidt [{}]", in(reg) &raw const pointer, options(nostack)) };
}
