//! The assembler of a naked key's function and of its check, for all instruction sets. The instructions are the arch file's:
//! `__naked_asm!`, `__naked_call!`.

/// A naked key's function, `$function`, with its table entry.
///
/// Its section has a relocation that does nothing but name the key: a linker that folds identical functions (`--icf`) must not
/// take two keys' functions for one. It ends on a multiple of 8 bytes, and so begins on one if it has a section of its own:
/// what is written does not cross a line of cache.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_function_asm {
    ($function:ident, $key:ident, $default:expr) => {
        #[unsafe(naked)]
        extern "C" fn $function() -> u32 {
            ::core::arch::naked_asm!(
                $crate::__once_asm!(),
                ".cfi_startproc",
                $crate::__naked_asm!("{default}"),
                ".cfi_endproc",
                ".balign 8",
                ".reloc 2b, BFD_RELOC_NONE, {key}",
                ".pushsection __jump_table, \"ao\", %progbits, {function}",
                ".balign 4",
                ".long 2b - .",
                ".long 3b - .",
                $crate::__key_word_asm!("key"),
                ".long {meta}",
                ".popsection",
                function = sym $function,
                key = sym $key,
                default = const $default as u32,
                meta = const $crate::format::meta(false, $crate::format::NAKED, 0),
            )
        }
    };
}

/// The function as a site like any other, with a return after it and a return where it jumps to: label 2, label 3. For all
/// instruction sets that have no other.
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "riscv64")))]
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

/// The check: `$call` of `$function`, which writes all bits of `$type` in `$result`, and each `$written`. `$option` is what
/// the arch file says of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_check {
    ($function:path, $call:expr, ($($option:tt)*), $result:tt $type:ty $(, $($written:tt)+)?) => {{
        let value: $type;
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: the function above, which writes nothing else.
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

/// What a check calls.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_callee_asm {
    () => {
        "{function}"
    };
}

/// What a check calls that may be in another object: through the GOT, because what a lazily bound function goes through
/// writes more registers.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_callee_asm {
    () => {
        "qword ptr [rip + {function}@GOTPCREL]"
    };
}
