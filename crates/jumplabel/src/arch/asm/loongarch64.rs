//! LoongArch, 64 bits: cache maintenance, and the assembler of sites, constructors and naked functions. The instructions of a site are in
//! [`jumplabel_format::arch::loongarch64`].
//!
//! `IBAR` works for the calling processor only, and Linux (7.2) has no membarrier that makes other processors execute it. So other processors see a
//! flip soon, but not at once. They see the flip at once if the program opts in to core sync by signal.

use crate::arch::{Act, Caches, Machine, Native};

impl Machine for Native {
    /// No cache needs maintenance, because caches are coherent. But a processor keeps instructions that it has fetched ahead.
    fn caches() -> Caches {
        Caches::Acts { clean: false, invalidate: false }
    }

    /// Carries out one act of cache maintenance. LoongArch needs an instruction only for `Complete` and `Serialise`.
    unsafe fn act(act: Act) {
        // SAFETY: this only drops instructions that were fetched ahead.
        unsafe {
            match act {
                Act::Clean(_) | Act::Invalidate(_) => {}
                Act::Complete => core::arch::asm!("dbar 0", options(nostack, preserves_flags)),
                Act::Serialise => core::arch::asm!("ibar 0", options(nostack, preserves_flags)),
            }
        }
    }
}

/// A check's site. No instruction that the site can hold changes a register or flags.
///
/// The stub of a key declared `or_load` uses a register, which it first saves on the stack. This ABI has no red zone, so the stub steps over
/// none.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".long \\t-.;.Ljload_\\n\\(): addi.d $sp,$sp,-16;st.d $t0,$sp,8;pcalau12i $t0,%pc_hi20(\\k+\\m/256);\
            ld.w $t0,$t0,%pc_lo12(\\k+\\m/256);slli.w $t0,$t0,1;.if (\\m)&1;beqz $t0,2f;.else;bnez $t0,2f;.endif;\
            ld.d $t0,$sp,8;addi.d $sp,$sp,16;b %b26(.Ljump_site_\\n+4);2:ld.d $t0,$sp,8;addi.d $sp,$sp,16;b \\t",
            ".Ljump_site_\\n\\(): b \\t", ".Ljump_site_\\n\\(): nop", $($site)*)
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        ::core::concat!("ori $a0, $zero, ", $value, "\nret\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record. The call reaches as far as
/// rustc's own calls.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!("la.local $a0, __jumplabel_object\n", "tail36 $t0, ", $function, "\n")
    };
}

/// The body of a static call's trampoline.
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        "2: b .L{key}.default\npcalau12i $t8, %pc_hi20({key})\nld.d $t8, $t8, %pc_lo12({key})\njr $t8"
    };
}

/// The check of a naked key: calls the key's function, `$function`, which writes a0. The call changes the return address register. The call is two
/// instructions, and reaches as far as rustc's own calls. A linker that relaxes makes one `bl` of the two.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            ::core::concat!("call36 ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "$a0" u64,
            "$ra"
        )
    };
}
