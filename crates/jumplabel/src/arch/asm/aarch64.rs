//! AArch64: cache maintenance, and the assembler of sites, constructors and naked functions. The instructions of a site are in
//! [`jumplabel_format::arch::aarch64`].

use crate::arch::{Act, Caches, Machine, Native};

impl Machine for Native {
    /// The acts of cache maintenance that this processor needs, by two bits of the register CTR_EL0: 28 (`IDC`) and 29 (`DIC`).
    fn caches() -> Caches {
        let ctr: u64;
        // SAFETY: reads a register that Linux lets programs read.
        unsafe { core::arch::asm!("mrs {}, ctr_el0", out(reg) ctr, options(nomem, nostack, preserves_flags)) };
        Caches::Acts { clean: ctr >> 28 & 1 == 0, invalidate: ctr >> 29 & 1 == 0 }
    }

    /// Carries out one act of cache maintenance (Arm ARM B2.4.4).
    unsafe fn act(act: Act) {
        // SAFETY: the caller passes the address of a site, which is mapped and readable. The instructions only change caches, and drop instructions
        // that were fetched ahead.
        unsafe {
            match act {
                Act::Clean(site) => core::arch::asm!("dc cvau, {}", in(reg) site, options(nostack, preserves_flags)),
                Act::Invalidate(site) => {
                    core::arch::asm!("ic ivau, {}", in(reg) site, options(nostack, preserves_flags))
                }
                Act::Complete => core::arch::asm!("dsb ish", options(nostack, preserves_flags)),
                Act::Serialise => core::arch::asm!("isb", options(nostack, preserves_flags)),
            }
        }
    }
}

/// A check's site. No instruction that the site can hold changes a register or flags.
///
/// The stub of a key declared `or_load` uses w16, which it first saves on the stack. This ABI has no red zone, so the stub steps over none.
/// The stub's `.inst` is a `cbnz` of w16 that skips two instructions, or a `cbz` if the check falls through when the key is on.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".long \\t-.;.Ljload_\\n\\(): str x16,[sp,#-16]!;adrp x16,\\k+\\m/256;ldr w16,[x16,:lo12:\\k+\\m/256];lsl w16,w16,#1;\
            .inst 0x35000070-((\\m)&1)*0x1000000;ldr x16,[sp],#16;b .Ljump_site_\\n+4;ldr x16,[sp],#16;b \\t",
            ".Ljump_site_\\n\\(): b \\t", ".Ljump_site_\\n\\(): nop", $($site)*)
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        ::core::concat!("mov w0, #", $value, "\nret\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record. `hint #34` is `bti c`: if the
/// processor checks branch targets, the loader's call must land on one.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!(
            "hint #34\n",
            "adrp x0, __jumplabel_object\n",
            "add x0, x0, :lo12:__jumplabel_object\n",
            "b ",
            $function,
            "\n",
        )
    };
}

/// The body of a static call's trampoline. `hint #34` is `bti c`: a branch through x16 can land there.
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        "hint #34\n2: b .L{key}.default\nadrp x16, {key}\nldr x16, [x16, :lo12:{key}]\nbr x16"
    };
}

/// The check of a naked key: calls the key's function, `$function`, which writes w0 and no flags. The call changes the link register, and a
/// linker's veneer can write x16 and x17.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            ::core::concat!("bl ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "w0" u32,
            "x16" "x17" "x30"
        )
    };
}
