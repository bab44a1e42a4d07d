//! The assembler for PE files (Windows): the names of sections, the object's record, and the differences from ELF at sites and switches.
//!
//! ```text
//!   .rsrc_jt$m     the table's entries       the linker keeps them, but keeps no site or key because of them
//!   .vectors$jkm   records of declarations   the linker keeps them, and the statics that they lead to
//!   .vectors$jlm   elements of lists         the same
//!   .vectors$jfm   marks of objects, by C    the same
//!   .vectors$jo    a word that leads to the object's record, for each assembler file
//!   .text$jm       what ELF puts into a subsection: stubs, arms of switches
//!   .jumplbl       the way to this instance's `Runtime`, and the object's record
//! ```
//!
//! * The linker joins the sections whose names agree up to the `$`, and sorts them by the rest of the name. So the labels in `$a` and `$z`, or
//!   in `$jka` and `$jkz`, are the bounds.
//! * On ELF, link order ties an entry to the section of its site. PE files have no link order. They also have no relocation without bytes
//!   (`BFD_RELOC_NONE`). GNU ld drops sections that no relocation leads to. GNU ld never drops a section whose name begins with `.rsrc`. But it drops
//!   a section if only relocations of `.rsrc` sections lead there. So an entry stays even if its site is dropped, and GNU ld then writes 0 into the
//!   words that led to the site. lld, which links the output of C compilers, leaves in these words what the assembler wrote: the distance of the
//!   label from the beginning of its section. Each word then leads to a place after the entry, where there is no code. The library recognises both
//!   sorts of dropped sites (`site::verdict`). GNU ld keeps a section whose name begins with `.vectors`, and the sections that this section leads to
//!   (bfd/cofflink.c: `bfd_coff_gc_sections`, `coff_gc_sweep`).
//! * All words are distances (`IMAGE_REL_AMD64_REL32`), so the loader has nothing to relocate.
//! * In Intel syntax, inline assembly loses each `$`. So the blocks here are in AT&T syntax, and all instructions are written as bytes.
//! * A trampoline and the function of a naked key leave the stack as it was. Windows assumes that of every function without unwind information.

mod site;
mod switch;

/// The object's record. In front of it are the words by which another instance of the library finds this one. One file of the library's archive
/// contains the record. The linker takes that file because each file with keys or sites has a word that leads to the record, in `.vectors$jo`.
#[doc(hidden)]
#[macro_export]
macro_rules! __object_asm {
    () => {
        ::core::concat!(
            ".pushsection .rsrc_jt$a,\"dr\"\n.balign 4\n.Ljumplabel_table:\n.popsection\n",
            ".pushsection .rsrc_jt$z,\"dr\"\n.balign 4\n.Ljumplabel_table_end:\n.long 0\n.popsection\n",
            ".pushsection .vectors$jka,\"dr\"\n.balign 4\n.Ljumplabel_keys:\n.popsection\n",
            ".pushsection .vectors$jkz,\"dr\"\n.balign 4\n.Ljumplabel_keys_end:\n.popsection\n",
            ".pushsection .vectors$jfa,\"dr\"\n.balign 4\n.Ljumplabel_foreign:\n.popsection\n",
            ".pushsection .vectors$jfz,\"dr\"\n.balign 4\n.Ljumplabel_foreign_end:\n.popsection\n",
            ".pushsection .vectors$jla,\"dr\"\n.balign 4\n.Ljumplabel_lists:\n.popsection\n",
            ".pushsection .vectors$jlz,\"dr\"\n.balign 4\n.Ljumplabel_lists_end:\n.long 0\n.popsection\n",
            ".pushsection .jumplbl,\"dw\"\n",
            ".balign 8\n",
            ".ascii \"jumplabel\"\n.byte 0, 0, 0\n",
            ".long {runtime} - .\n",
            ".globl __jumplabel_object\n",
            "__jumplabel_object:\n",
            ".quad 0, 0, 0, 0, 0, 0, 0\n",
            ".long .Ljumplabel_table - .\n",
            ".long .Ljumplabel_table_end - .\n",
            ".long .Ljumplabel_keys - .\n",
            ".long .Ljumplabel_keys_end - .\n",
            ".long .Ljumplabel_foreign - .\n",
            ".long .Ljumplabel_foreign_end - .\n",
            ".long .Ljumplabel_lists - .\n",
            ".long .Ljumplabel_lists_end - .\n",
            ".long 0\n",
            ".long 1\n",
            ".popsection",
        )
    };
}

/// A word that leads to the object's record. Each assembler file with keys or sites has it once.
#[doc(hidden)]
#[macro_export]
macro_rules! __once_asm {
    () => {
        ".ifndef .Ljump_once\n.set .Ljump_once, 1\n.pushsection .vectors$jo,\"dr\"\n.balign 4\n.long __jumplabel_object - .\n.popsection\n.endif"
    };
}

/// Begins the table entry of a function that is one site: a trampoline, or the function of a naked key.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_entry_asm {
    () => {
        ".pushsection .rsrc_jt$m,\"dr\"\n.balign 4"
    };
}

/// Begins a record of a declaration.
#[doc(hidden)]
#[macro_export]
macro_rules! __record_section_asm {
    () => {
        ".pushsection .vectors$jkm,\"dr\"\n.balign 4\n"
    };
}

/// The unwind information of a function that leaves the stack as it was: none.
#[doc(hidden)]
#[macro_export]
macro_rules! __unwind_asm {
    ($where:ident) => {
        ""
    };
}

/// Inline assembly without instructions: directives only.
#[doc(hidden)]
#[macro_export]
macro_rules! __asm_without_code {
    ([$($text:tt)*] $($operand:tt)*) => {
        ::core::arch::asm!($($text)* $($operand)* options(att_syntax, nomem, nostack, preserves_flags))
    };
}
