//! Armv7-A: cache maintenance, and the assembler of sites, constructors and naked functions. The instructions of a site are in
//! [`jumplabel_format::arch::arm`].

use crate::arch::{Act, Caches, Machine, Native};

impl Machine for Native {
    /// A system call (`cacheflush`), because programs may not maintain caches themselves.
    fn caches() -> Caches {
        Caches::System
    }

    /// Carries out the act `Serialise`. Programs may not carry out any other act.
    unsafe fn act(act: Act) {
        if let Act::Serialise = act {
            // SAFETY: this only drops instructions that were fetched ahead.
            unsafe { core::arch::asm!("isb", options(nostack, preserves_flags)) };
        }
    }
}

/// A check's site. No instruction that the site can hold changes a register or flags.
///
/// The stub of a key declared `or_load` uses r0 and r1, which it first saves on the stack. The stub saves the flags in r1. This ABI has no red zone,
/// so the stub steps over none.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".long \\t-.;.Ljload_\\n\\(): push {{r0,r1}};mrs r1,apsr;ldr r0,3f;2:ldr r0,[pc,r0];lsls r0,r0,#1;\
            .if (\\m)&1;beq 4f;.else;bne 4f;.endif;msr apsr_nzcvq,r1;pop {{r0,r1}};b .Ljump_site_\\n+4;\
            4:msr apsr_nzcvq,r1;pop {{r0,r1}};b \\t;3:.long \\k+\\m/256-(2b+8)",
            ".Ljump_site_\\n\\(): b \\t", ".Ljump_site_\\n\\(): nop", $($site)*)
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        ::core::concat!("mov r0, #", $value, "\nbx lr\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!(
            "ldr r0, 3f\n",
            "2: add r0, pc, r0\n",
            "b ",
            $function,
            "\n",
            "3: .long __jumplabel_object - (2b + 8)\n",
        )
    };
}

/// The body of a static call's trampoline.
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        "2: b .L{key}.default\nldr r12, 5f\n4: ldr pc, [pc, r12]\n5: .long {key} - (4b + 8)"
    };
}

/// The check of a naked key: calls the key's function, `$function`, which writes r0 and no flags. The call changes the link register, and a
/// linker's veneer can write r12.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            ::core::concat!("bl ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "r0" u32,
            "r12" "lr"
        )
    };
}
