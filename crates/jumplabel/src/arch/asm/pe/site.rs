//! A site in a PE file. Only the sections differ from those of [`site`](super::super::site). On ELF, a relocation keeps apart functions that
//! check different keys and otherwise look alike. Here there is none: GNU ld does not fold identical code in PE files.

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
                t = label { break 'site !$arm },
                k = sym $sym,
                m = const $($word)*($arm, $(&$($argument)*),+),
                options(att_syntax, $($option)*),
            );
        }
        $arm
    } };
}
