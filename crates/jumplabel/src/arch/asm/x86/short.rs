//! x86: sites that are built as plain jumps, whose size the assembler chooses (`--cfg jumplabel_short`). Without this option, `site.rs` has
//! a nop or a jump of five bytes in this place.
//!
//! ```text
//!  2: .Ljump_site_\n: jmp \t       eb rel8 or e9 rel32, whatever the first state is
//!  3:
//!   meta: arm; kind 7 if 3b - 2b is 2; bit 7 if the first state falls through
//! ```
//!
//! Only the size of a jump is chosen right by assemblers. If a nop were as long as a jump would be, the assembler would take the distance
//! to the label for the length of the code before it. A word marks an object with such sites. So the object's constructor brings the sites
//! to the state of their keys, unless `jumplabel link` has done that in the file. The site of a key declared `or_load` has a jump to its
//! stub. It begins with this jump, and has five bytes: the stub relies on that.
//!
//! The kind is computed from the distance of two labels, which is known once the jump has its size: 28 is kind 7, above the two lowest
//! bits. An assembler can put padding in front of the jump (gas: `-mbranches-within-32B-boundaries`). That makes a site of an unknown
//! length, which the library never writes.

/// A site in a build in which all keys are in this object.
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

/// Marks an object that has such sites: [`TO_LINK`](crate::format::TO_LINK), in the section that also has the marks of objects with keys in
/// other objects.
#[cfg(jumplabel_short_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __to_link_asm {
    () => {
        ".pushsection __jump_foreign, \"aR\", %progbits\n.balign 4\n.long 1\n.popsection"
    };
}
