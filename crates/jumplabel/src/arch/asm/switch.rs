//! The assembler of an N-way switch, for all instruction sets: the site, its table entry, and its arms. The instructions are in the arch
//! file: `__switch_options!`.
//!
//! ```text
//!  jumplabel_switch n, c           begins the site and its arms: number, count of arms
//!    .subsection 2                   after the function, and after the stub
//!    .Ljump_arms_\n: c
//!    .Ljump_switch_\n:
//!  jumplabel_arm i, t, d, k        one for each arm: mode, label, the default mode, the static
//!    .if \i == \d                    the site: jump \t
//!    .subsection 1                   in the stub, where there is one: if \k is \i, jump \t
//!    .subsection 2
//!      i, t
//!  jumplabel_switched n            after the site: a jump to the stub, where there is one; and the beginning of the entry:
//!    code, arms
//!  key, meta
//! ```
//!
//! The arms are in the section of their site, so the linker keeps or drops them with the site. The rest is the same as for a check: see
//! [`site`](super::site).

/// The site of an N-way switch of `$mode`. The macro's value is the mode of the arm that was taken. The mode is `$default` at first, and there are
/// `$count` modes. The arch file gives `$option` (the options of the inline assembly), `$align` (aligns a site), `$jump` (the jump to an arm),
/// `$test` (one comparison in the stub) and `$behind` (the code after the site, and the end of the stub). `$once` and `$key` differ in a `dylib`.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_text {
    (
        ($($once:tt)*), $key:literal, ($($option:tt)*), $align:literal, $jump:literal, $test:literal, $behind:literal,
        $mode:path, $default:expr, $count:expr, $($arm:ident),+
    ) => { 'switch: {
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: this jumps to one of the labels. It preserves all registers, and changes flags only if the arch's options allow that.
        unsafe {
            ::core::arch::asm!(
                ".ifndef .Ljump_switches;.set .Ljump_switches,0",
                $($once)*,
                ".macro jumplabel_switch n,c;.subsection 2;.balign 4;.Ljump_arms_\\n\\():.long \\c;.previous;\
                .subsection 1;.Ljump_stub_\\n\\():.previous",
                $align,
                $crate::__site_prefix_asm!(),
                ".Ljump_switch_\\n\\():;.endm;.macro jumplabel_arm i,t,d,k;.if (\\i)==(\\d)",
                $jump,
                ".endif;.subsection 1",
                $test,
                ".previous;.subsection 2;.long \\i,\\t-.;.previous;.endm;.macro jumplabel_switched n",
                $behind,
                ".reloc .Ljump_switch_\\n,BFD_RELOC_NONE,.Ljump_entry_of_\\n;\
                .pushsection __jump_table,\"ao?\",%progbits,.Ljump_switch_\\n;.balign 4;\
                .Ljump_entry_of_\\n\\():.long .Ljump_switch_\\n-.,.Ljump_arms_\\n-.;.endm;.endif;\
                .set .Ljump_switches,.Ljump_switches+1;.altmacro;jumplabel_switch %.Ljump_switches,{c};.noaltmacro",
                $($crate::__switch_arm_asm!($arm),)+
                ".altmacro;jumplabel_switched %.Ljump_switches;.noaltmacro",
                $key,
                $(const __Modes::$arm as ::core::primitive::u8, label { break 'switch __Modes::$arm; },)+
                k = sym $mode,
                d = const $default,
                c = const $count,
                m = const $crate::format::meta(false, $crate::format::SWITCH, 0),
                options(noreturn, $($option)*),
            )
        }
    } };
}

/// The assembler line of one arm. The line uses the next two operands of the `asm!`: the arm's mode and its label.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_arm_asm {
    ($arm:ident) => {
        "jumplabel_arm {},{},{d},{k}"
    };
}

/// A switch in a build in which each object contains all modes of its switches.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_asm {
    ($($switch:tt)*) => {
        $crate::__switch_text!(
            (".reloc .,BFD_RELOC_NONE,__jumplabel_object"),
            ".long {k}-.,{m};.popsection",
            $($switch)*
        )
    };
}

/// A switch whose mode may be in another object.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_asm {
    ($($switch:tt)*) => {
        $crate::__switch_text!(
            ($crate::__once_asm!(), $crate::__foreign_asm!()),
            ".long {k}@GOTPCREL,{m};.popsection",
            $($switch)*
        )
    };
}
