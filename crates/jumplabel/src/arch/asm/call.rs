//! The assembler of a static call's trampoline, for all instruction sets. The instructions are the arch file's:
//! `__trampoline!`.

/// The trampoline `$function` of `$call`, with its table entry, and `$record` of its declaration.
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline_asm {
    ($function:ident, $call:ident, $default:expr, [$($record:tt)*]) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $function() {
            ::core::arch::naked_asm!(
                $crate::__once_asm!(),
                ".cfi_startproc",
                $crate::__trampoline!(),
                ".cfi_endproc",
                ".reloc 2b, BFD_RELOC_NONE, {key}",
                ".pushsection __jump_table, \"ao\", %progbits, {function}",
                ".balign 4",
                ".long 2b - .",
                ::core::concat!(".long ", $crate::__trampoline_leads_to!(), " - ."),
                $crate::__key_word_asm!("key"),
                ".long {meta}",
                ".popsection",
                $($record)*,
                declaration = sym __JUMPLABEL_DECLARATION,
                function = sym $function,
                key = sym $call,
                default = sym $default,
                meta = const $crate::format::meta(false, $crate::format::JUMP, 0),
            )
        }
    };
}

/// Where the site of a trampoline leads at first: to the default, as its jump names that. On riscv64, to a stub behind it.
#[doc(hidden)]
#[macro_export]
#[cfg(not(any(target_arch = "x86_64", target_arch = "riscv64")))]
macro_rules! __trampoline_leads_to {
    () => {
        "{default}"
    };
}
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline_leads_to {
    () => {
        "{default}@PLT"
    };
}
#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __trampoline_leads_to {
    () => {
        "3b"
    };
}
