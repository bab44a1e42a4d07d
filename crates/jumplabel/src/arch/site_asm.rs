//! The assembler of a site, for all instruction sets: the instruction, its table entry, and what each assembler file and each
//! object has once. The instruction itself is the arch file's: `__nop_asm!`, `__jump_asm!`.
//!
//! Rust's inline assembly is LLVM's on every target, so that directives are the same: `%progbits` (`@` begins a comment on
//! Arm), words relative to themselves, an assembler counter for unique labels.

/// A site: one instruction, one table entry. `$arm` is what the check yields when execution falls through (likely:
/// true), `$sym` the static that `$place` is or lies in. The site's first instruction is a jump where the key's default
/// differs from `$arm`. `$option` is what the arch file says of its instruction.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    (($($option:tt)*), $arm:expr, $sym:path, $($place:tt)*) => { 'site: {
        // Outside of the unsafe block: the place is the caller's.
        const { let _ = $crate::key::default_of(&$($place)*); }
        #[allow(named_asm_labels, clippy::undocumented_unsafe_blocks)]
        // SAFETY: falls through or jumps to the label; writes nothing but flags, where the arch's options allow it.
        unsafe {
            ::core::arch::asm!(
                // Once in each assembler file: the object's record, and a macro for the site and the beginning of its entry,
                // whose section is tied (link order) to the site's by a label that a counter makes unique. The macro also
                // keeps `{target}` to one mention: each would be a label of its own, and an instrumented build (coverage)
                // gives each its own block, so that the jump and the table would name different places.
                ".ifndef .Ljumplabel_sites",
                ".set .Ljumplabel_sites, 0",
                ".macro jumplabel_site number, jump, target",
                ".if \\jump",
                $crate::__jump_asm!(".Ljumplabel_site_\\number\\():", "\\target"),
                ".else",
                $crate::__nop_asm!(".Ljumplabel_site_\\number\\():", "\\target"),
                ".endif",
                // Does nothing but be there: without it, functions that check different keys can look alike to a linker
                // that folds identical code (--icf), which would leave one site for both.
                ".reloc .Ljumplabel_site_\\number, BFD_RELOC_NONE, .Ljumplabel_entry_\\number",
                ".pushsection __jump_table,\"ao?\",%progbits,.Ljumplabel_site_\\number",
                ".balign 4",
                ".Ljumplabel_entry_\\number\\():",
                ".long .Ljumplabel_site_\\number - .",
                ".long \\target - .",
                ".endm",
                $crate::__object_asm!(),
                $crate::__foreign_asm!(),
                ".endif",
                ".set .Ljumplabel_sites, .Ljumplabel_sites + 1",
                ".altmacro",
                "jumplabel_site %.Ljumplabel_sites, {jump}, {target}",
                ".noaltmacro",
                $crate::__key_word_asm!(),
                ".long {meta}",
                ".popsection",
                target = label { break 'site !$arm },
                key = sym $sym,
                offset = const $crate::site::key_offset(&$($place)*, &$sym),
                jump = const ($crate::key::default_of(&$($place)*) != $arm) as u32,
                meta = const $crate::site::meta($arm, $crate::site::key_offset(&$($place)*, &$sym)),
                options($($option)*),
            );
        }
        $arm
    } };
}

/// The table entry's word for the key: relative to itself, or, for keys in another object, by way of the GOT.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_word_asm {
    () => {
        ".long {key} + {offset} - ."
    };
}

/// The key record's word for the key, as in a table entry.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record_word_asm {
    () => {
        ".long {key} - ."
    };
}

/// The key record's word for the key: in a `dylib`, another object's symbol may take precedence.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record_word_asm {
    () => {
        ".long {key}@GOTPCREL"
    };
}

/// The table entry's word for the key, by way of the GOT: the offset is in the entry's meta word.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_word_asm {
    () => {
        ".long {key}@GOTPCREL + {offset} * 0"
    };
}

/// Marks an object that has keys in other objects: its sites are looked at when it is loaded.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __foreign_asm {
    () => {
        ""
    };
}

/// The mark: a word in a section of its own.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __foreign_asm {
    () => {
        ".pushsection __jump_foreign, \"aR\", %progbits\n.balign 4\n.long 0\n.popsection"
    };
}
