//! POWER, 64 bits, little endian: cache maintenance, and the assembler of sites, constructors and naked functions. The instructions of a site
//! are in [`jumplabel_format::arch::powerpc64`].

use crate::arch::{Act, Caches, Machine, Native};

impl Machine for Native {
    /// The acts of cache maintenance that make stores to code visible on all POWER processors.
    fn caches() -> Caches {
        Caches::Acts { clean: true, invalidate: true }
    }

    /// Carries out one act of cache maintenance (Power ISA book II, 1.8).
    unsafe fn act(act: Act) {
        // SAFETY: the caller passes the address of a site, which is mapped and readable. The instructions only change caches, and drop instructions
        // that were fetched ahead.
        unsafe {
            match act {
                Act::Clean(site) => core::arch::asm!("dcbst 0, {}", in(reg) site, options(nostack, preserves_flags)),
                Act::Invalidate(site) => {
                    core::arch::asm!("icbi 0, {}", in(reg) site, options(nostack, preserves_flags))
                }
                Act::Complete => core::arch::asm!("sync", options(nostack, preserves_flags)),
                Act::Serialise => core::arch::asm!("isync", options(nostack, preserves_flags)),
            }
        }
    }
}

/// A check's site. No instruction that the site can hold changes a register or flags.
///
/// The stub of a key declared `or_load` saves r11, r12 and the link register on the stack. A leaf may use the 288 bytes under the stack pointer, so
/// the stub saves below these bytes. The stub saves the condition in r12. The stub gets its own address from the link register, because r2 may not be
/// this function's TOC.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".long \\t-.;.Ljload_\\n\\(): stdu 1,-368(1);std 11,32(1);std 12,40(1);mflr 12;std 12,48(1);mfcr 12;bcl 20,31,2f;\
            2:mflr 11;addis 11,11,\\k+\\m/256-2b@ha;lwz 11,\\k+\\m/256-2b@l(11);clrlwi. 11,11,1;\
            .if (\\m)&1;beq 3f;.else;bne 3f;.endif;\
            mtcrf 128,12;ld 12,48(1);mtlr 12;ld 12,40(1);ld 11,32(1);addi 1,1,368;b .Ljump_site_\\n+4;\
            3:mtcrf 128,12;ld 12,48(1);mtlr 12;ld 12,40(1);ld 11,32(1);addi 1,1,368;b \\t",
            ".Ljump_site_\\n\\(): b \\t", ".Ljump_site_\\n\\(): nop", $($site)*)
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        ::core::concat!("li 3, ", $value, "\nblr\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record. The caller has put the
/// constructor's address into r12, and the constructor computes the TOC's address from r12.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!(
            ".L",
            $function,
            "_entry:\n",
            "addis 2, 12, .TOC.-.L",
            $function,
            "_entry@ha\n",
            "addi 2, 2, .TOC.-.L",
            $function,
            "_entry@l\n",
            "mflr 0\n",
            "std 0, 16(1)\n",
            "stdu 1, -32(1)\n",
            "addis 3, 2, __jumplabel_object@toc@ha\n",
            "addi 3, 3, __jumplabel_object@toc@l\n",
            "bl ",
            $function,
            "\n",
            "nop\n",
            "addi 1, 1, 32\n",
            "ld 0, 16(1)\n",
            "mtlr 0\n",
            "blr\n",
        )
    };
}

/// The check of a naked key: calls the key's function, `$function`, which writes r3. The call changes the link register, and a linker's
/// stub can write r11, r12 and ctr.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            ::core::concat!("bl ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "r3" u64,
            "r11" "r12" "lr" "ctr"
        )
    };
}
