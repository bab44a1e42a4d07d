//! From the loader, or from the other CPU's reset, to Rust code in 64-bit mode.
//!
//! ```text
//!   loader, by the PVH note ─► start, 32 bits: bss, tables ───┐
//!   reset ─► trampoline, 16 bits, below 1 MiB ─► start_other ─┴─► enter, 64 bits ─► first, other
//! ```

use core::arch::{asm, global_asm};

use super::{LOW, first, other};
use crate::memory::{IMAGE, ROOT, STACK, STACKS, Table};

/// The topmost table of pages. Its first entry leads to [`ROOT`].
static TOP: Table = Table::new();

global_asm!(
    // The note for which the loader looks (Xen's note 18): the address at which it starts the kernel.
    ".pushsection .note.pvh, \"a\", @note",
    ".balign 4",
    ".long 4, 8, 18",
    ".asciz \"Xen\"",
    ".quad start",
    ".popsection",
    ".pushsection .text.start, \"ax\", @progbits",
    ".code32",
    ".globl start",
    "start: cli",
    "cld",
    "lgdt gdt_pointer",
    "ljmp $8, $0f",
    "0: mov $__bss, %edi",
    "mov $__bss_end, %ecx",
    "sub %edi, %ecx",
    "xor %eax, %eax",
    "rep stosb",
    // The gibibytes of memory that the kernel uses: its own, that of devices (not cached), and the alias. All are writable and executable for now.
    "movl ${root} + 3, {top}",
    "movl ${image} + 3, {root}",
    "movl $0xc000009b, {root} + 3 * 8",
    "movl $0x83, {root} + 4 * 8",
    "movl $0x80000000, {root} + 4 * 8 + 4",
    "mov $0x83, %eax",
    "mov ${image}, %edi",
    "0: mov %eax, (%edi)",
    "add $0x200000, %eax",
    "add $8, %edi",
    "cmp ${image} + 4096, %edi",
    "jb 0b",
    "mov ${stacks} + {stack}, %esp",
    "mov ${first}, %esi",
    "jmp enter",
    "start_other: mov ${stacks} + 2 * {stack}, %esp",
    "mov ${other}, %esi",
    "enter: mov $0x10, %eax",
    "mov %eax, %ds",
    "mov %eax, %es",
    "mov %eax, %ss",
    "mov $0x220, %eax", // addresses of 64 bits; fxsave
    "mov %eax, %cr4",
    "mov ${top}, %eax",
    "mov %eax, %cr3",
    "mov $0xc0000080, %ecx",
    "mov $0x900, %eax", // 64-bit mode, and pages that cannot be executed
    "xor %edx, %edx",
    "wrmsr",
    "mov $0x80010033, %eax", // translation; even privileged code must not write to read-only pages
    "mov %eax, %cr0",
    "ljmp ${code}, $0f",
    ".code64",
    "0: mov %esp, %esp",
    "mov %esi, %esi",
    "push $0", // the place of a return address: the stack is as after a call
    "jmp *%rsi",
    // The CPU runs a copy of this, at {low}.
    ".code16",
    "trampoline: cli",
    "xor %ax, %ax",
    "mov %ax, %ds",
    "lgdtl {low} + trampoline_pointer - trampoline",
    "mov %cr0, %eax",
    "or $1, %eax",
    "mov %eax, %cr0",
    "ljmpl $8, $start_other",
    ".code64",
    "trampoline_pointer: .word 31",
    ".long gdt",
    "trampoline_end:",
    "gdt_pointer: .word 31",
    ".long gdt",
    // The descriptors: 32-bit code, data, 64-bit code. The bits "accessed" are set in advance, so that no CPU writes to this table.
    ".balign 8",
    "gdt: .quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff, 0x00af9b000000ffff",
    ".popsection",
    top = sym TOP,
    root = sym ROOT,
    image = sym IMAGE,
    stacks = sym STACKS,
    stack = const STACK,
    low = const LOW,
    code = const CODE,
    first = sym first,
    other = sym other,
    options(att_syntax),
);

/// The selector of 64-bit code.
pub const CODE: u64 = 0x18;

/// Gives this CPU its number.
pub fn set_cpu(cpu: usize) {
    const GS_BASE: u32 = 0xc000_0101;
    static NUMBERS: [usize; 2] = [0, 1];
    let number = (&raw const NUMBERS[cpu]) as u32;
    // SAFETY: nobody else uses gs.
    unsafe { asm!("wrmsr", in("ecx") GS_BASE, in("eax") number, in("edx") 0, options(nostack)) };
}

/// The number of this CPU. Neither the number nor the time is read from a device: while one CPU reads a device's registers in a loop, QEMU does not
/// interrupt the other one.
pub fn cpu() -> usize {
    let cpu;
    // SAFETY: this reads the word at gs:0, where `set_cpu` has put the number.
    unsafe { asm!("mov {}, gs:[0]", out(reg) cpu, options(readonly, nostack, preserves_flags)) };
    cpu
}
