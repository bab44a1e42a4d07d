//! x86-64 and i686: cache maintenance, and the assembler of sites, constructors and naked functions. The instructions of a site are in
//! [`jumplabel_format::arch::x86`].

use crate::arch::{Act, Caches, Machine, Native};

impl Machine for Native {
    /// No acts: instruction fetches see stores.
    fn caches() -> Caches {
        Caches::Coherent
    }

    /// Does nothing. Caches need no acts. No act `Serialise` is needed, because a processor serialises when it returns from an interrupt or a signal
    /// (`iret`).
    unsafe fn act(_: Act) {}
}

/// A check's site. A primed site (`test`) and a stub change flags, so the options lack `preserves_flags`.
///
/// The stub of a check of a key declared `or_load` is: `test dword ptr [key], 0x7fffffff`; `jnz` to the target; `jmp` to the address after the site.
/// If the check falls through while the key is on, the stub has `jz` instead of `jnz`.
#[cfg(all(target_arch = "x86_64", not(jumplabel_dylib)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem), ".long \\t-.;.Ljload_\\n\\(): .byte 247,5;.long \\k+\\m/256-.-8,0x7fffffff;\
            .byte 15,133-((\\m)&1);.long \\t-.-4;.byte 233;.long .Ljump_site_\\n+1-.", ".Ljump_site_\\n\\(): .byte 0xe9;.long \\t - . - 4",
            ".Ljump_site_\\n\\(): .byte 0x0f, 0x1f, 0x44, 0x00, 0x00", $($site)*)
    };
}

/// A check's site whose key may be in another object. The stub loads the key's address from the GOT into rax, which it first saves below
/// the red zone.
#[cfg(all(target_arch = "x86_64", jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem), ".long \\t-.;.Ljload_\\n\\(): lea rsp,[rsp-128];push rax;mov rax,[rip+\\k\\()@GOTPCREL];\
            test dword ptr [rax+\\m/256],0x7fffffff;pop rax;lea rsp,[rsp+128];\
            .byte 15,133-((\\m)&1);.long \\t-.-4;.byte 233;.long .Ljump_site_\\n+1-.", ".Ljump_site_\\n\\(): .byte 0xe9;.long \\t - . - 4",
            ".Ljump_site_\\n\\(): .byte 0x0f, 0x1f, 0x44, 0x00, 0x00", $($site)*)
    };
}

/// A check's site on i686, where no operand is relative to the instruction. So the stub calls the next instruction to get its own address.
#[cfg(target_arch = "x86")]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem), ".long \\t-.;.Ljload_\\n\\(): push eax;call 2f;2:pop eax;.byte 247,128;.long \\k+\\m/256-2b,0x7fffffff;\
            pop eax;.byte 15,133-((\\m)&1);.long \\t-.-4;.byte 233;.long .Ljump_site_\\n+1-.", ".Ljump_site_\\n\\(): .byte 0xe9;.long \\t - . - 4",
            ".Ljump_site_\\n\\(): .byte 0x0f, 0x1f, 0x44, 0x00, 0x00", $($site)*)
    };
}

/// A pristine site after `$label`.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!($label, "\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n")
    };
}

/// A site after `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!($label, "\n.byte 0xe9\n.long ", $target, " - . - 4\n")
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        ::core::concat!("mov eax, ", $value, "\nret\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!("lea rdi, [rip + __jumplabel_object]\n", "jmp ", $function, "@PLT\n")
    };
}

/// The body of a constructor without arguments: calls `$function` with the address of the object's record, on an aligned stack.
#[cfg(target_arch = "x86")]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_asm {
    ($function:literal) => {
        ::core::concat!(
            "call 2f\n",
            "2: pop eax\n",
            ".byte 0x05\n.long __jumplabel_object - 2b\n", // add eax, imm32
            "sub esp, 8\n",
            "push eax\n",
            "call ",
            $function,
            "\n",
            "add esp, 12\n",
            "ret\n",
        )
    };
}

/// The function of a naked key, with its site at label 2. The site is `mov eax, 0` or `mov eax, 1`, and never a jump.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_asm {
    ($default:literal) => {
        ::core::concat!("2:\n3:\nmov eax, ", $default, "\nret\n")
    };
}

/// The body of a static call's trampoline. An indirect branch can land on its `endbr64`. The trampoline has a section of its own, whose
/// alignment keeps the jump in one cache line and in one page.
#[cfg(all(target_arch = "x86_64", not(any(jumplabel_dylib, jumplabel_windows))))]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        "endbr64\n2: .byte 0xe9\n.long .L{key}.default@PLT - . - 4\njmp qword ptr [rip + {key}]\n.balign 16"
    };
}

/// The body of a static call's trampoline in a Rust `dylib`. There, the linker accepts a call's address only from the GOT. r11 holds no argument: in
/// any library, the code that binds a function lazily writes r11, too.
#[cfg(all(target_arch = "x86_64", jumplabel_dylib, not(jumplabel_windows)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        "endbr64\n2: .byte 0xe9\n.long .L{key}.default@PLT - . - 4\nmov r11, qword ptr [rip + {key}@GOTPCREL]\njmp qword ptr [r11]\n.balign 16"
    };
}

/// The body of a static call's trampoline in a PE file, which has no PLT.
#[cfg(all(target_arch = "x86_64", jumplabel_windows))]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        "endbr64\n2: .byte 0xe9\n.long .L{key}.default - . - 4\njmp qword ptr [rip + {key}]\n.balign 16"
    };
}

/// The body of a static call's trampoline. All registers may hold arguments, so the jump through the slot uses the stack.
#[cfg(target_arch = "x86")]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline {
    () => {
        ::core::concat!(
            "2: .byte 0xe9\n.long .L{key}.default - . - 4\n",
            "push eax\n.cfi_adjust_cfa_offset 4\npush eax\n.cfi_adjust_cfa_offset 4\n",
            "call 4f\n.cfi_adjust_cfa_offset 4\n4: pop eax\n.cfi_adjust_cfa_offset -4\n",
            ".byte 0x8b, 0x80\n.long {key} - 4b\n", // mov eax, [eax + disp32]
            "mov [esp + 4], eax\npop eax\n.cfi_adjust_cfa_offset -4\nret\n.balign 16"
        )
    };
}

/// The site of an N-way switch. In the middle of a change, the site holds `a9`. Execution then continues after the site, where a jump leads to the
/// stub. For each arm, the stub has `cmp byte ptr [mode], number` and `je` to the arm. After the last arm the stub starts again, because the mode may
/// have changed between two comparisons.
#[cfg(all(target_arch = "x86_64", not(any(jumplabel_dylib, jumplabel_windows))))]
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_options {
    ($($switch:tt)*) => {
        $crate::__switch_asm!((nostack, nomem), "", ".byte 0xe9;.long \\t-.-4",
            ".byte 0x80,0x3d;.long \\k-.-5;.byte \\i;.byte 15,0x84;.long \\t-.-4",
            ".byte 233;.long .Ljump_stub_\\n-.-4;.subsection 1;.byte 233;.long .Ljump_stub_\\n-.-4;.previous",
            $($switch)*)
    };
}

/// The site of a switch whose mode may be in another object. The stub loads the mode's address from the GOT.
#[cfg(all(target_arch = "x86_64", jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_options {
    ($($switch:tt)*) => {
        $crate::__switch_asm!((nostack, nomem), "", ".byte 0xe9;.long \\t-.-4",
            "lea rsp,[rsp-128];push rax;mov rax,[rip+\\k\\()@GOTPCREL];cmp byte ptr [rax],\\i;pop rax;lea rsp,[rsp+128];.byte 15,0x84;.long \\t-.-4",
            ".byte 233;.long .Ljump_stub_\\n-.-4;.subsection 1;.byte 233;.long .Ljump_stub_\\n-.-4;.previous",
            $($switch)*)
    };
}

/// The site of a switch on i686, where no operand is relative to the instruction. So the stub calls the next instruction to get its own
/// address.
#[cfg(target_arch = "x86")]
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_options {
    ($($switch:tt)*) => {
        $crate::__switch_asm!((nostack, nomem), "", ".byte 0xe9;.long \\t-.-4",
            "push eax;call 2f;2:pop eax;.byte 0x80,0xb8;.long \\k-2b;.byte \\i;pop eax;.byte 15,0x84;.long \\t-.-4",
            ".byte 233;.long .Ljump_stub_\\n-.-4;.subsection 1;.byte 233;.long .Ljump_stub_\\n-.-4;.previous",
            $($switch)*)
    };
}

/// The check of a naked key: calls the key's function, `$function`, which writes eax and no flags. The options lack `nostack`, so the
/// compiler keeps nothing below the stack pointer, where the call puts the return address.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            ::core::concat!("call ", $crate::__naked_callee_asm!()),
            (nomem, preserves_flags),
            "eax" u32
        )
    };
}
