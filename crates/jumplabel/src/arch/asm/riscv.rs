//! RISC-V, of 64 and of 32 bits: cache maintenance, and the assembler of sites, constructors and naked functions. The instructions of a site are
//! in [`jumplabel_format::arch::riscv64`].

use crate::arch::{Act, Caches, Machine, Native};

impl Machine for Native {
    /// A system call (`riscv_flush_icache`), because `fence.i` works for the calling processor only.
    fn caches() -> Caches {
        Caches::System
    }

    /// Carries out the act `Serialise`. The system call does the rest.
    unsafe fn act(act: Act) {
        if let Act::Serialise = act {
            // SAFETY: this only drops instructions that were fetched ahead.
            unsafe { core::arch::asm!("fence.i", options(nostack, preserves_flags)) };
        }
    }
}

/// A check's site. No instruction that the site can hold changes a register.
///
/// The stub of a key declared `or_load` uses a register, which it first saves on the stack. This ABI has no red zone, so the stub steps over none.
/// The stubs of 64 and of 32 bits differ in the load and the store of a register, and in the shift of the count's 32 bits.
#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".long \\t-.;.Ljload_\\n\\(): addi sp,sp,-16;sd t0,8(sp);lw t0,\\k+\\m/256;slliw t0,t0,1;\
            .if (\\m)&1;beqz t0,2f;.else;bnez t0,2f;.endif;\
            ld t0,8(sp);addi sp,sp,16;j .Ljump_site_\\n+4;2:ld t0,8(sp);addi sp,sp,16;j \\t",
            ".option push;.p2align 2;.option norvc;.Ljump_site_\\n\\(): jal zero, \\t;.option pop",
            ".option push;.p2align 2;.option norvc;.Ljump_site_\\n\\(): nop;.option pop", $($site)*)
    };
}
#[cfg(target_arch = "riscv32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".long \\t-.;.Ljload_\\n\\(): addi sp,sp,-16;sw t0,8(sp);lw t0,\\k+\\m/256;slli t0,t0,1;\
            .if (\\m)&1;beqz t0,2f;.else;bnez t0,2f;.endif;\
            lw t0,8(sp);addi sp,sp,16;j .Ljump_site_\\n+4;2:lw t0,8(sp);addi sp,sp,16;j \\t",
            ".option push;.p2align 2;.option norvc;.Ljump_site_\\n\\(): jal zero, \\t;.option pop",
            ".option push;.p2align 2;.option norvc;.Ljump_site_\\n\\(): nop;.option pop", $($site)*)
    };
}

/// A pristine site after `$label`. The alignment stands in front of the line that forbids compressed instructions. Otherwise the linker would not
/// keep the alignment when it deletes earlier code.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!(".option push\n.p2align 2\n.option norvc\n", $label, "\nnop\n.option pop\n")
    };
}

/// A site after `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!(".option push\n.p2align 2\n.option norvc\n", $label, "\njal zero, ", $target, "\n.option pop\n")
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        ::core::concat!("li a0, ", $value, "\nret\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!("lla a0, __jumplabel_object\n", "tail ", $function, "\n")
    };
}

/// The function of a naked key, with its site at label 2. The site is `li a0, 0` or `li a0, 1`, and never a jump. The `li` is not compressed, so it
/// is a whole word. The function returns through t0, so that the caller's own return address stays in ra.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_asm {
    ($default:literal) => {
        ::core::concat!(
            ".cfi_register ra, t0\n.option push\n.p2align 2\n.option norvc\n2:\n3:\nli a0, ",
            $default,
            "\njr t0\n.option pop\n",
        )
    };
}

/// The body of a static call's trampoline. The site's jump does not reach far, so it first leads to a stub, which jumps to the default. The load of
/// the slot differs between 64 and 32 bits.
#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        ::core::concat!(
            ".option push\n.option norvc\n.option norelax\n.p2align 2\n2: jal zero, 3f\n1: auipc t1, %pcrel_hi({key})\n",
            "ld t1, %pcrel_lo(1b)(t1)\njr t1\n3: tail .L{key}.default\n.option pop"
        )
    };
}
#[cfg(target_arch = "riscv32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        ::core::concat!(
            ".option push\n.option norvc\n.option norelax\n.p2align 2\n2: jal zero, 3f\n1: auipc t1, %pcrel_hi({key})\n",
            "lw t1, %pcrel_lo(1b)(t1)\njr t1\n3: tail .L{key}.default\n.option pop"
        )
    };
}

/// The site of an N-way switch.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_options {
    ($($switch:tt)*) => {
        $crate::__switch_asm!((nostack, nomem, preserves_flags), ".p2align 2", ".option push;.option norvc;jal zero,\\t;.option pop", "", "",
            $($switch)*)
    };
}

/// The check of a naked key: calls the key's function, `$function`, which writes a0. The call also writes t0, through which the function
/// returns.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            ::core::concat!("call t0, ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "a0" usize,
            "t0"
        )
    };
}
