//! The code that runs first on each CPU: from the loader, or from the other CPU's reset, to Rust code in 32-bit mode.
//!
//! ```text
//!   loader, by the multiboot header ─► start: bss ─────────────┐
//!   reset ─► trampoline, 16 bits, below 1 MiB ─► start_other ──┴─► enter ─► first, other
//! ```

use core::arch::{asm, global_asm};

use super::{LOW, first, other};
use crate::memory::{STACK, STACKS};

global_asm!(
    // The multiboot header, for which the loader looks: a magic number, no options, and a number that makes the sum 0.
    ".pushsection .multiboot, \"a\", @progbits",
    ".balign 4",
    ".long 0x1badb002, 0, -0x1badb002",
    ".popsection",
    ".pushsection .text.start, \"ax\", @progbits",
    ".globl start",
    "start: cli",
    "cld",
    "lgdt gdt_pointer",
    "ljmp $8, $0f",
    "0: mov $__bss, %edi",
    "mov $__bss_end, %ecx",
    "sub %edi, %ecx",
    "xor %eax, %eax",
    "mov $0x10, %edx",
    "mov %edx, %es",
    "rep stosb",
    "mov ${stacks} + {stack}, %esi",
    "mov ${first}, %edi",
    "jmp enter",
    "start_other: mov $0x10, %edx",
    "mov ${stacks} + 2 * {stack}, %esi",
    "mov ${other}, %edi",
    "enter: mov %edx, %ds",
    "mov %edx, %es",
    "mov %edx, %ss",
    "mov %esi, %esp",
    "mov $0x600, %eax", // fxsave, and exceptions of vectors
    "mov %eax, %cr4",
    "mov $0x33, %eax",
    "mov %eax, %cr0",
    "fninit",
    "push $0", // the place of a return address: the stack is as after a call
    "jmp *%edi",
    // The CPU runs a copy of this, at {low}.
    ".code16",
    "trampoline: cli",
    "cld",
    "xor %ax, %ax",
    "mov %ax, %ds",
    "lgdtl {low} + trampoline_pointer - trampoline",
    "mov %cr0, %eax",
    "or $1, %eax",
    "mov %eax, %cr0",
    "ljmpl $8, $start_other",
    ".code32",
    "trampoline_pointer: .word 39",
    ".long gdt",
    "trampoline_end:",
    "gdt_pointer: .word 39",
    ".long gdt",
    // The descriptors: code, data, and one more data descriptor for each CPU. The selector of this last one is in the CPU's gs, and tells the CPU's
    // number. The bits "accessed" are set in advance, so that no CPU writes to this table.
    ".balign 8",
    "gdt: .quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff, 0x00cf93000000ffff, 0x00cf93000000ffff",
    ".popsection",
    stacks = sym STACKS,
    stack = const STACK,
    low = const LOW,
    first = sym first,
    other = sym other,
    options(att_syntax),
);

/// The selector of code.
pub const CODE: u32 = 8;
/// The selector of CPU 0's own descriptor.
const NUMBERED: usize = 0x18;

/// Gives this CPU its number.
pub fn set_cpu(cpu: usize) {
    // SAFETY: nobody else uses gs, and the descriptor exists.
    unsafe { asm!("mov gs, {:e}", in(reg) NUMBERED + 8 * cpu, options(nostack)) };
}

pub fn cpu() -> usize {
    let selector: usize;
    // SAFETY: this only reads gs, where `set_cpu` has put the number.
    unsafe { asm!("mov {:e}, gs", out(reg) selector, options(nomem, nostack, preserves_flags)) };
    (selector - NUMBERED) / 8
}
