//! The entries of interrupts and faults, which call [`trap`].

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

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
    // The entry saves the registers that a Rust function may change, vector registers included, and continues at the address that the function
    // returns.
    "trap_entry: pushad",
    "cld",
    "mov ebp, esp",
    "sub esp, 512",
    "and esp, -16",
    "fxsave [esp]",
    "sub esp, 16",
    ".irp at, 0,4,8; mov eax, [ebp + 32 + \\at]; mov [esp + \\at], eax; .endr",
    "call {trap}",
    "add esp, 16",
    "fxrstor [esp]",
    "mov esp, ebp",
    "mov [esp + 40], eax",
    "popad",
    "add esp, 8",
    "iretd",
    ".popsection",
    vectors = const VECTORS,
    trap = sym trap,
);

/// The table of handlers.
static HANDLERS: [AtomicU32; 2 * VECTORS] = [const { AtomicU32::new(0) }; 2 * VECTORS];

/// Installs the handlers for this CPU. They run with interrupts off.
pub fn handle() {
    unsafe extern "C" {
        static vectors: [[u8; 16]; VECTORS];
    }
    for (at, [low, high]) in HANDLERS.as_chunks().0.iter().enumerate() {
        const GATE: u32 = 0x8e00;
        let handler = (&raw const vectors) as u32 + 16 * at as u32;
        low.store(handler & 0xffff | boot::CODE << 16, Relaxed);
        high.store(handler & 0xffff_0000 | GATE, Relaxed);
    }
    #[repr(C, packed(2))]
    struct Pointer(u16, *const AtomicU32);
    let pointer = Pointer(size_of_val(&HANDLERS) as u16 - 1, HANDLERS.as_ptr());
    // SAFETY: the pointer describes the table above.
    unsafe { asm!("lidt [{}]", in(reg) &raw const pointer, options(nostack)) };
}
