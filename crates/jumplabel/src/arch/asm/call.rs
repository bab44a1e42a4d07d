//! The assembler of a static call's trampoline, for all instruction sets. The instructions are in the arch file: `__trampoline!`. The trampoline's
//! jump first leads to the symbol `.L{key}.default`. The function `__define` sets this symbol to the call's default function; the table shows why.
//!
//! ```text
//!   where           operand  what the operand names
//!   in naked_asm!   sym f    f itself. If f is #[track_caller], f takes one more argument than its type says.
//!   in asm!         sym f    the function that `f as fn(..)` leads to: f, or the compiler's shim that adds that argument
//! ```
//!
//! Therefore an `asm!` sets the symbol, in the function `__define`. A `.L` symbol is known only in its object file, so `__define` must be in the
//! object file of the trampoline. `__define` is `inline(always)`, because the compiler puts an `inline(always)` function into each object file that
//! mentions the function. No code calls `__define`, and the linker drops it.

/// Makes the function `$function`, the trampoline of `$call`, with its table entry. `$record` is the assembler text of the
/// record that the call's declaration leaves.
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline_asm {
    ($function:ident, $call:ident, $default:expr, [$($record:tt)*]) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $function() {
            #[inline(always)]
            fn __define() {
                #[allow(clippy::undocumented_unsafe_blocks)]
                // SAFETY: this is one directive, and no instruction.
                unsafe {
                    ::core::arch::asm!(
                        ".set .L{key}.default, {default}",
                        key = sym $call,
                        default = sym $default,
                        options(nomem, nostack, preserves_flags),
                    );
                }
            }
            ::core::arch::naked_asm!(
                $crate::__once_asm!(),
                $crate::__unwind_asm!(begin),
                $crate::__trampoline!(),
                $crate::__unwind_asm!(end),
                $crate::__function_entry_asm!(),
                ".long 2b - .",
                ::core::concat!(".long ", $crate::__trampoline_leads_to!(), " - ."),
                $crate::__key_word_asm!("key"),
                ".long {meta}",
                ".popsection",
                $($record)*,
                "// {definition} {function}",
                declaration = sym __JUMPLABEL_DECLARATION,
                function = sym $function,
                key = sym $call,
                definition = sym __define,
                meta = const $crate::format::meta(false, $crate::format::JUMP, 0),
            )
        }
    };
}

/// The target in a trampoline's table entry, which is also the first target of the trampoline's jump: the symbol of the default function. On RISC-V:
/// a stub after the site.
#[doc(hidden)]
#[macro_export]
#[cfg(not(any(
    all(target_arch = "x86_64", not(jumplabel_windows)),
    target_arch = "riscv32",
    target_arch = "riscv64"
)))]
macro_rules! __trampoline_leads_to {
    () => {
        ".L{key}.default"
    };
}
#[cfg(all(target_arch = "x86_64", not(jumplabel_windows)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline_leads_to {
    () => {
        ".L{key}.default@PLT"
    };
}
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline_leads_to {
    () => {
        "3b"
    };
}
