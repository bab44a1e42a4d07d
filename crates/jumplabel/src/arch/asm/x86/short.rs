//! x86: sites that are built as plain jumps, whose size the assembler chooses (`--cfg jumplabel_short`), where
//! `site.rs` has a nop or a jump of five bytes.
//!
//! ```text
//!  2: .Ljump_site_\n: jmp \t       eb rel8 or e9 rel32, whatever the first state is
//!  3:
//!  meta: arm; kind 7 if 3b - 2b is 2; bit 7 if the site shall begin as what falls through
//! ```
//!
//! Only a jump has a size that assemblers choose right: a nop that is as long as a jump would be takes the distance to the label for the
//! length of what lies before it. That the object has such sites, a word says, so that its constructor brings them to the state of
//! their keys, unless `jumplabel link` has done so in the file. The site of a key declared `or_load`, whose jump leads to its stub, begins as
//! that, with five bytes, which the stub relies on.
//!
//! The kind comes from the distance of two labels, which is known when the jump has its size: 28 is 7, behind the two lowest bits. An
//! assembler that puts padding in front of the jump (gas: `-mbranches-within-32B-boundaries`) makes a site that nobody knows, and so
//! nobody writes.

/// A site, if all keys are in this object.
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

/// Marks an object that has such sites: [`TO_LINK`](crate::format::TO_LINK), beside the marks of those that have keys in other
/// objects.
#[cfg(jumplabel_short_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __to_link_asm {
    () => {
        ".pushsection __jump_foreign, \"aR\", %progbits\n.balign 4\n.long 1\n.popsection"
    };
}
