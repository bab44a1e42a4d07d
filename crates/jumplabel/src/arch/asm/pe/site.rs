//! A site in a PE file. Only the sections differ from those of [`site`](super::super::site), and how functions that check different keys are kept
//! apart. On ELF, a relocation without bytes does that; here there is none. GNU ld does not fold identical code in PE files, so it needs nothing.
//! MSVC's linker and lld-link do (`/OPT:ICF`, which rustc asks for in optimised builds). For them, the arm to which a site jumps begins with a nop
//! whose address is the key's.

/// A site, its table entry and, for a key declared `or_load`, its stub.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    (
        ($($option:tt)*), $load:literal, $jump:literal, $nop:literal,
        $arm:expr, $sym:path, [$($word:tt)*] $(($($argument:tt)*))+, $($outside:tt)*
    ) => { 'site: {
        // This is outside the unsafe block, because it contains the user's own expression.
        $($outside)*
        // This makes no code. Clippy thinks that it is a call, and so does not complain that a loop with this condition never ends.
        let _ = ::core::option::Option::Some(());
        // SAFETY: this falls through or jumps to the label. It writes nothing but flags.
        unsafe {
            ::core::arch::asm!(
                ".ifndef .Ljump_sites;.set .Ljump_sites,0",
                $crate::__once_asm!(),
                ".macro jumplabel_site n,m,t,k;.if (\\m)&32;.pushsection .text$jm,\"xr\"",
                $load,
                ".popsection;jumplabel_site \\n,\\m-32,.Ljload_\\n;.exitm;.endif;.if (\\m)&128",
                $jump,
                ".else",
                $nop,
                ".endif;.pushsection .rsrc_jt$m,\"dr\";.balign 4;.long .Ljump_site_\\n-.,\\t-.;.endm;.endif;\
                .set .Ljump_sites,.Ljump_sites+1;.altmacro;jumplabel_site %.Ljump_sites,{m},{t},{k};.noaltmacro",
                ".long {k}+({m}>>8)-.,{m}&127;.popsection",
                t = label { $crate::__unfolded_asm!($sym, $($word)*($arm, $(&$($argument)*),+)); break 'site !$arm },
                k = sym $sym,
                m = const $($word)*($arm, $(&$($argument)*),+),
                options(att_syntax, $($option)*),
            );
        }
        $arm
    } };
}

/// Keeps linkers from folding functions that check different keys and otherwise look alike: one nop, in the arm to which the site jumps.
#[cfg(target_env = "msvc")]
#[doc(hidden)]
#[macro_export]
macro_rules! __unfolded_asm {
    ($sym:path, $word:expr) => {
        // SAFETY: a nop of seven bytes. It reads no memory.
        unsafe {
            ::core::arch::asm!(
                ".byte 15,31,5;.long {k}+({m}>>8)-.-4",
                k = sym $sym,
                m = const $word,
                options(att_syntax, nomem, nostack, preserves_flags),
            )
        }
    };
}

/// Nothing: the linkers of this target do not fold functions, unless somebody asks lld to do so.
#[cfg(not(target_env = "msvc"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __unfolded_asm {
    ($sym:path, $word:expr) => {};
}
