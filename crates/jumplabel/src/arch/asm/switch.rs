//! The assembler of an N-way switch, for all instruction sets: the site, its table entry, and its arms. The instructions are the arch
//! file's: `__switch_options!`.
//!
//! ```text
//!  jumplabel_switch n, c           begins the site and its arms: number, how many
//!    .subsection 2                   after the function, and after the stub
//!    .Ljump_arms_\n: c
//!    .Ljump_switch_\n:
//!  jumplabel_arm i, t, d, k        one for each arm: mode, label, the default mode, the static
//!    .if \i == \d                    the site: jump \t
//!    .subsection 1                   of the stub, where there is one: if \k is \i, jump \t
//!    .subsection 2
//!      i, t
//!  jumplabel_switched n            after the site: a jump to the stub, where there is one; and the beginning of the entry:
//!    code, arms
//!  key, meta
//! ```
//!
//! The arms are in the section of their site, so that they live and die with it. The rest is as at a check: see
//! [`site`](super::site).

/// A switch of `$mode`, which is `$default` at first, and one of `$count`: yields one of `$arm`. `$option`, `$align`, `$jump`, `$test` and `$behind` are what the arch file says: the options of the inline
/// assembly, what aligns a site, the jump to an arm, one test of the stub, and what is after the site and the stub. `$once` and `$key`
/// are what is different in a `dylib`.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_text {
    (
        ($($once:tt)*), $key:literal, ($($option:tt)*), $align:literal, $jump:literal, $test:literal, $behind:literal,
        $mode:path, $default:expr, $count:expr, $($arm:ident),+
    ) => { 'switch: {
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: jumps to one of the labels; writes nothing but flags, if the arch's options allow it.
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

/// The line of one arm, which has the next two operands.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_arm_asm {
    ($arm:ident) => {
        "jumplabel_arm {},{},{d},{k}"
    };
}

/// A switch, if all modes are in this object.
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
