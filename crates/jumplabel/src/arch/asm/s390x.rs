//! z/Architecture: cache maintenance, and the assembler of sites, constructors and naked functions. The instructions of a site are in
//! [`jumplabel_format::arch::s390x`].

use crate::arch::{Act, Caches, Machine, Native};

impl Machine for Native {
    /// No acts: instruction fetches see stores.
    fn caches() -> Caches {
        Caches::Coherent
    }

    /// Carries out the act `Serialise` (`bcr 15,0`). The processor needs no other act.
    unsafe fn act(act: Act) {
        if let Act::Serialise = act {
            // SAFETY: this only drops instructions that were fetched ahead.
            unsafe { core::arch::asm!("bcr 15, 0", options(nostack, preserves_flags)) };
        }
    }
}

/// A check's site. No instruction that the site can hold changes a register or the condition.
///
/// The stub of a key declared `or_load` uses a register, which it first saves on the stack. This ABI has no red zone, so the stub steps over
/// none. No instruction of the stub sets the condition.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".long \\t-.;.Ljload_\\n\\(): lay %r15,-16(%r15);stg %r1,8(%r15);larl %r1,\\k+\\m/256;llgt %r1,0(%r1);\
            .if (\\m)&1;cgije %r1,0,2f;.else;cgijlh %r1,0,2f;.endif;\
            lg %r1,8(%r15);la %r15,16(%r15);jg .Ljump_site_\\n+6;2:lg %r1,8(%r15);la %r15,16(%r15);jg \\t",
            ".Ljump_site_\\n\\(): brcl 15, \\t",
            ".Ljump_site_\\n\\(): brcl 0, \\t", $($site)*)
    };
}

/// A pristine site after `$label`.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!($label, "\nbrcl 0, ", $target, "\n")
    };
}

/// A site after `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!($label, "\nbrcl 15, ", $target, "\n")
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        ::core::concat!("lghi %r2, ", $value, "\nbr %r14\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!("larl %r2, __jumplabel_object\n", "jg ", $function, "\n")
    };
}

/// The body of a static call's trampoline.
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        "2: brcl 15, .L{key}.default\nlgrl %r1, {key}\nbr %r1\n.balign 8"
    };
}

/// The site of an N-way switch. In the middle of a change, the site has a mask of 0. Execution then continues after the site, where a jump leads to
/// the stub. The stub compares the mode with the number of each arm. If no number is equal, the stub starts again, because the mode may have changed
/// between two comparisons. The stub saves the register that it uses, but it changes the condition.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_options {
    ($($switch:tt)*) => {
        $crate::__switch_asm!((nostack, nomem), "", "brcl 15,\\t",
            "lay %r15,-16(%r15);stg %r1,8(%r15);larl %r1,\\k;cli 0(%r1),\\i;lg %r1,8(%r15);la %r15,16(%r15);brcl 8,\\t",
            "jg .Ljump_stub_\\n;.subsection 1;jg .Ljump_stub_\\n;.previous",
            $($switch)*)
    };
}

/// The check of a naked key: calls the key's function, `$function`, which writes r2. The call also writes r14, through which the function
/// returns.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            ::core::concat!("brasl %r14, ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "r2" u64,
            "r14"
        )
    };
}
