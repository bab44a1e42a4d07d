//! The assembler of an operation in place, for all instruction sets that have such operations: the site, its table entry, its arms. The
//! instructions are in `word`; for x86-64, they are in `x86/op.rs`.
//!
//! ```text
//!  8802: native   8803:                       the site, which holds the native instruction at first
//!    .subsection 1                            after the function:
//!    8807: native  8808:                        a copy of the native instruction
//!    8809: name                                 the name of the operation
//!    8811: a backend's body  jmp 8803           the backend's stub
//!    .subsection 2                            after subsection 1:
//!    8804: count; mode and address of each arm  the list of arms
//! ```
//!
//! The labels are numeric, so that each reference means the nearest label: a function may contain several operations, and may inline one operation
//! several times.

#[cfg(not(jumplabel_in_place))]
mod elsewhere;
#[cfg(all(jumplabel_sites, any(target_arch = "aarch64", target_arch = "riscv64")))]
mod word;

/// The text in front of an operation: gives the operation a number and a label. The first operation of an assembler file also defines the assembler's
/// macros for labels and table entries.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_begin_asm {
    () => {
        ::core::concat!(
            ".ifndef .Ljump_ops\n.set .Ljump_ops,0\n.macro jumplabel_op n\n.Ljump_op_\\n\\():\n.endm\n.macro jumplabel_op_entry n\n\
        .reloc .Ljump_op_\\n,BFD_RELOC_NONE,.Ljump_op_entry_\\n\n\
        .pushsection __jump_table,\"ao?\",%progbits,.Ljump_op_\\n\n.balign 4\n\
        .Ljump_op_entry_\\n\\(): .long .Ljump_op_\\n-.,8804b-.\n.endm\n.endif\n\
        .set .Ljump_ops,.Ljump_ops+1\n",
            $crate::__op_prefix_asm!(),
            ".altmacro\njumplabel_op %.Ljump_ops\n.noaltmacro\n",
        )
    };
}

/// The text after the site: the beginning of the table entry. The key and the meta word follow.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_entry_asm {
    () => {
        ".altmacro\njumplabel_op_entry %.Ljump_ops\n.noaltmacro"
    };
}

/// The first two rows in the list of arms: the native instruction, and the operation's name. `{__count}` is the number of all rows.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_native_asm {
    ($op:ident, $template:literal) => {
        ::core::concat!(
            "8803:\n", $crate::__op_instruction_asm!(behind), ".if (8803b-8802b)", $crate::__op_length_asm!(wrong),
            "\n.error \"jumplabel: the native instruction of the operation ", ::core::stringify!($op),
            $crate::__op_length_asm!(message), "\"\n.endif\n",
            ".subsection 1\n", $crate::__op_instruction_asm!(before), "8807:\n", $template, "\n8808:\n", $crate::__op_instruction_asm!(behind),
            "8809: .ascii \"", ::core::stringify!($op), "\"\n8810:\n.previous\n",
            ".subsection 2\n.balign 4\n8804: .long {__count}\n.long {}|(8808b-8807b)<<8,8807b-.\n.long 255|(8810b-8809b)<<8,8809b-.\n.previous"
        )
    };
}

/// The row in the list of arms for a backend whose stub is after label 8811.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_row_asm {
    () => {
        ".subsection 2\n.long {},8811b-.\n.previous"
    };
}
