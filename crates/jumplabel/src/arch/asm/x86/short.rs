//! x86: sites that are built as plain jumps, whose size the assembler chooses (`--cfg jumplabel_short`). Without this option, a site is
//! built as a nop or a jump of five bytes (`site.rs`).
//!
//! ```text
//!  2: .Ljump_site_\n: jmp \t       eb rel8 or e9 rel32, whatever the first state is
//!  3:
//!   meta word of the entry: the arm; kind 7 if 3b - 2b is 2; bit 7 if the first state falls through
//! ```
//!
//! Assemblers choose the size of a jump, but cannot make a nop of the size that the jump would have. So a site that falls through in its first state
//! is also built as a jump, which is wrong at first. A word marks an object that has such sites. If the object has this mark, its constructor sets
//! the sites to the state of their keys, unless `jumplabel link` has done that in the file. The site of a key declared `or_load` is a jump to a stub.
//! This jump always has five bytes, because the stub jumps back to the address five bytes after the site's start.
//!
//! The assembler computes the kind from the distance of the labels 2 and 3, which the assembler knows once it has chosen the size of the jump. The 28
//! is the number of kind 7 in the meta word: 7, shifted by two bits. An assembler can put padding in front of the jump (gas:
//! `-mbranches-within-32B-boundaries`). Then the bytes after label 2 are in no state of the kind, and the library never writes to the site.

/// A site in a build in which each object contains all keys of its sites.
#[cfg(all(jumplabel_short_sites, not(jumplabel_dylib)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    ($options:tt, $load:literal, $jump:literal, $nop:literal, $($site:tt)*) => {
        $crate::__site_text!(
            (".reloc .,BFD_RELOC_NONE,__jumplabel_object", $crate::__to_link_asm!()),
            ".long {k}+({m}>>8)-.,({m}&127)+(({m}&128)^128)+((5-(3b-2b))/3&1)*28;.popsection",
            $options,
            $load,
            "2:.Ljump_site_\\n\\():;.ifb \\k;.byte 0xe9;.long \\t-.-4;.else;jmp \\t;.endif;3:",
            "2:.Ljump_site_\\n\\():jmp \\t;3:",
            $($site)*
        )
    };
}

/// A site whose key may be in another object.
#[cfg(all(jumplabel_short_sites, jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    ($options:tt, $load:literal, $jump:literal, $nop:literal, $($site:tt)*) => {
        $crate::__site_text!(
            ($crate::__once_asm!(), $crate::__foreign_asm!(), $crate::__to_link_asm!()),
            ".long {k}@GOTPCREL,({m}&0xffffff7f)+(({m}&128)^128)+((5-(3b-2b))/3&1)*28;.popsection",
            $options,
            $load,
            "2:.Ljump_site_\\n\\():;.ifb \\k;.byte 0xe9;.long \\t-.-4;.else;jmp \\t;.endif;3:",
            "2:.Ljump_site_\\n\\():jmp \\t;3:",
            $($site)*
        )
    };
}

/// Marks an object that has sites built as plain jumps. The mark is [`TO_LINK`](crate::format::TO_LINK), a word in the section
/// `__jump_foreign`. (That section also holds the mark of an object that may use keys of other objects.)
#[cfg(jumplabel_short_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __to_link_asm {
    () => {
        ".pushsection __jump_foreign, \"aR\", %progbits\n.balign 4\n.long 1\n.popsection"
    };
}
