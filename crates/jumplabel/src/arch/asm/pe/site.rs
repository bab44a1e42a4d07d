//! A site in a PE file. There are two differences from ELF files ([`site`](super::super::site)): the sections, and the way in which the linker is
//! kept from folding functions that check different keys. On ELF, a relocation without bytes keeps such functions different, but PE files have no
//! such relocation. GNU ld does not fold identical code in PE files. MSVC's linker and lld-link do (`/OPT:ICF`, which rustc asks for in optimised
//! builds). So for these linkers, the arm to which a site jumps begins with a nop whose operand is the key's address.

/// A site, its table entry and, for a key declared `or_load`, its stub.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    (
        ($($option:tt)*), $load:literal, $jump:literal, $nop:literal,
        $arm:expr, $sym:path, [$($word:tt)*] $(($($argument:tt)*))+, $($outside:tt)*
    ) => { 'site: {
        // `$outside` has the macro's key expression once more, outside the unsafe block, so that the compiler checks it there as safe code.
        $($outside)*
        // This line makes no code. Clippy takes it for a call, and so does not complain that a loop with this condition never ends.
        let _ = ::core::option::Option::Some(());
        // SAFETY: this falls through or jumps to the label. It preserves all registers, and changes only flags, as the options allow.
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

/// A nop in the arm to which the site jumps. It keeps linkers from folding functions that check different keys and otherwise look alike.
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
