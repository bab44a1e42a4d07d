//! The assembler of a naked key's function and of its check, for all instruction sets. The instructions are in the arch file:
//! `__naked_asm!`, `__naked_call!`.

/// Makes the function of a naked key, `$function`, with its table entry.
///
/// The function's section has a relocation whose only purpose is to name the key. Without this relocation, a linker that folds identical functions
/// (`--icf`) would merge the functions of two keys. The `.balign 8` after the function also aligns the section. So a function that has a section of
/// its own begins at a multiple of 8 bytes, and the bytes that a flip writes never lie across two cache lines.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_function_asm {
    ($function:ident, $key:ident, $default:expr) => {
        #[unsafe(naked)]
        extern "C" fn $function() -> u32 {
            ::core::arch::naked_asm!(
                $crate::__once_asm!(),
                $crate::__unwind_asm!(begin),
                $crate::__naked_asm!("{default}"),
                $crate::__unwind_asm!(end),
                ".balign 8",
                $crate::__function_entry_asm!(),
                ".long 2b - .",
                ".long 3b - .",
                $crate::__key_word_asm!("key"),
                ".long {meta}",
                ".popsection // {function}",
                function = sym $function,
                key = sym $key,
                default = const $default as u32,
                meta = const $crate::format::meta(false, $crate::format::NAKED, 0),
            )
        }
    };
}

/// The function of a naked key, for instruction sets whose arch file does not define `__naked_asm`. The function's site (label 2) is a nop or a jump,
/// like the site of a check. If the site falls through, the function returns 0. If the site jumps, to label 3, the function returns 1.
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "riscv32", target_arch = "riscv64")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_asm {
    ($default:literal) => {
        ::core::concat!(
            ".if ",
            $default,
            "\n",
            $crate::__jump_asm!("2:", "3f"),
            ".else\n",
            $crate::__nop_asm!("2:", "3f"),
            ".endif\n",
            $crate::__return_asm!("0"),
            "3:\n",
            $crate::__return_asm!("1"),
        )
    };
}

/// The check of a naked key. `$call` is the text that calls `$function`. The call writes a whole `$type`, its result, to the register `$result`, and
/// may change each register in `$written`. The arch file gives `$option`, the options of the inline assembly.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_check {
    ($function:path, $call:expr, ($($option:tt)*), $result:tt $type:ty $(, $($written:tt)+)?) => {{
        let value: $type;
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: this calls the function of a naked key, which writes only the registers that are named here.
        unsafe {
            ::core::arch::asm!(
                $call,
                function = sym $function,
                out($result) value,
                $($(out($written) _,)+)?
                options($($option)*),
            );
        }
        value != 0
    }};
}

/// The operand of the call in a naked key's check: the function.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_callee_asm {
    () => {
        "{function}"
    };
}

/// The operand of the call in a naked key's check, if the function may be in another object. The call goes through the GOT, and not through
/// the PLT: the code that binds a function lazily would write more registers.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_callee_asm {
    () => {
        "qword ptr [rip + {function}@GOTPCREL]"
    };
}
