//! The assembler of a site, for all instruction sets: the instruction, its table entry, and the text that each assembler file has once. The
//! instructions themselves are in the arch file: `__site_options!`.
//!
//! Rust's inline assembly is LLVM's on every target, so one set of directives is enough for all. The text uses `%progbits` (`@` would begin a comment
//! on Arm), words that are relative to their own address, and a counter of the assembler for unique labels.
//!
//! The compiler works through this text for each check in a program, so the text must cost little compile time. The cost grows with the length of the
//! text, and with the numbers of lines, of operands (the borrow checker treats each constant as a function of its own), of nested macros and of
//! attributes. So there is one constant, and the text is short and has few lines. tests/compile_cost.rs counts them.
//!
//! ```text
//!  .ifndef .Ljump_sites                  once in each assembler file
//!    .set .Ljump_sites, 0                  the number of the last site
//!    __once_asm!                           refers to the object's record, so that there is one
//!    .macro jumplabel_site n, m, t, k      a site and the beginning of its entry: number, word, target, key
//!      .if \m & 32                           if the key is declared `or_load`:
//!        .subsection 1                          after the function
//!        .long \t - .                           a word that leads to the target
//!        .Ljload_\n: load, test,            the stub: jumps to the target, or back after the site
//!        .previous
//!        jumplabel_site, with the stub as target
//!        .exitm
//!      .endif
//!      __site_prefix_asm!                    x86: the byte in front, which nobody writes
//!      .if \m & 128                          the first state
//!        .Ljump_site_\n: jump \t
//!      .else
//!        .Ljump_site_\n: nop
//!      .endif
//!      .reloc .Ljump_site_\n, BFD_RELOC_NONE, .Ljump_entry_\n
//!      .pushsection __jump_table, "ao?", %progbits, .Ljump_site_\n
//!      .Ljump_entry_\n: code, target
//!    .endm
//!  .endif
//!  .set .Ljump_sites, .Ljump_sites + 1
//!  jumplabel_site %.Ljump_sites, word, target, key
//!  key, meta
//!  .popsection
//! ```
//!
//! * A stub is in the section of its site, so the linker keeps or drops it with the site. In this section, the stub lies after all functions, so the
//!   processor does not fetch the stub together with them. The stub preserves all registers, because the compiler does not know which checks have a
//!   stub.
//! * The entry's section is tied to the site's section (link order) through a label, which a counter makes unique.
//! * The relocation changes no bytes. Without the relocation, functions that check different keys could look alike to a linker that folds identical
//!   code (`--icf`), and the linker would leave one site for both.
//! * The macro mentions `{t}` only once. Each mention would be a separate label, and an instrumented build (coverage) gives each label a separate
//!   block. So if `{t}` were mentioned twice, the jump and the table would name different addresses.

/// A check's site: one instruction, one table entry. `$arm` is the value of the check if execution falls through (likely: true). `$sym` is
/// the key's static: the key itself, or a static that contains the key. The macro calls the function `[$word]` with a reference to each
/// `$argument`. The result is the word that the assembler gets ([`site_word`](crate::check::site_word)). The arch file gives `$option` (the
/// options of the inline assembly), `$load` (the stub), `$jump` and `$nop` (the two instructions). `$once` and `$key` differ in a `dylib`.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_text {
    (
        ($($once:tt)*), $key:literal, ($($option:tt)*), $load:literal, $jump:literal, $nop:literal,
        $arm:expr, $sym:path, [$($word:tt)*] $(($($argument:tt)*))+, $($outside:tt)*
    ) => { 'site: {
        // `$outside` has the macro's key expression once more, outside the unsafe block, so that the compiler checks it there as safe code.
        $($outside)*
        // This line makes no code. Clippy takes it for a call, and so does not complain that a loop with this condition never ends.
        let _ = ::core::option::Option::Some(());
        // SAFETY: this falls through or jumps to the label. It preserves all registers, and changes flags only if the arch's options allow that.
        unsafe {
            ::core::arch::asm!(
                ".ifndef .Ljump_sites;.set .Ljump_sites,0",
                $($once)*,
                ".macro jumplabel_site n,m,t,k;.if (\\m)&32;.subsection 1",
                $load,
                ::core::concat!(
                    ".previous;jumplabel_site \\n,\\m-32,.Ljload_\\n;.exitm;.endif;",
                    $crate::__site_prefix_asm!(),
                    ".if (\\m)&128"
                ),
                $jump,
                ".else",
                $nop,
                ".endif;.reloc .Ljump_site_\\n,BFD_RELOC_NONE,.Ljump_entry_\\n;\
                .pushsection __jump_table,\"ao?\",%progbits,.Ljump_site_\\n;.balign 4;\
                .Ljump_entry_\\n\\():.long .Ljump_site_\\n-.,\\t-.;.endm;.endif;\
                .set .Ljump_sites,.Ljump_sites+1;.altmacro;jumplabel_site %.Ljump_sites,{m},{t},{k};.noaltmacro",
                $key,
                t = label { break 'site !$arm },
                k = sym $sym,
                m = const $($word)*($arm, $(&$($argument)*),+),
                options($($option)*),
            );
        }
        $arm
    } };
}

/// A check's site in a build in which each object contains all keys of its sites, and also the library. So the object gets its record from
/// the library.
#[cfg(not(any(jumplabel_dylib, jumplabel_short_sites, jumplabel_windows)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    ($($site:tt)*) => {
        $crate::__site_text!(
            (".reloc .,BFD_RELOC_NONE,__jumplabel_object"),
            ".long {k}+({m}>>8)-.,{m}&127;.popsection",
            $($site)*
        )
    };
}

/// A check's site whose key may be in another object. The entry's key word leads to a slot of the GOT. The key's offset from the address in that slot
/// is in the meta word.
#[cfg(all(jumplabel_dylib, not(any(jumplabel_short_sites, jumplabel_windows))))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    ($($site:tt)*) => {
        $crate::__site_text!(
            ($crate::__once_asm!(), $crate::__foreign_asm!()),
            ".long {k}@GOTPCREL,{m}&0xffffff7f;.popsection",
            $($site)*
        )
    };
}

/// The table entry's word for the key: the distance from the word to the key. `$operand` is the operand that names the key.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_word_asm {
    ($operand:literal) => {
        ::core::concat!(".long {", $operand, "} - .")
    };
}

/// The table entry's word for the key: the distance from the word to the key's slot in the GOT. In a `dylib`, another object's symbol may
/// take precedence over the key's own.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_word_asm {
    ($operand:literal) => {
        ::core::concat!(".long {", $operand, "}@GOTPCREL")
    };
}

/// Marks an object that may use keys of other objects. The mark is a word in the section `__jump_foreign`. When the library registers such an
/// object, it sets the object's sites to the state of their keys.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __foreign_asm {
    () => {
        ".pushsection __jump_foreign, \"aR\", %progbits\n.balign 4\n.long 0\n.popsection"
    };
}
