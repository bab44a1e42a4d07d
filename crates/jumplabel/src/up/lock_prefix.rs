//! The assembler of a `lock` prefix that is a site.
//!
//! ```text
//!   code                                   __jump_table                        .data of the object
//!   f0  48 0f c1 07   lock xadd [rdi], rax ◄── code, target │ key ─────────►  __jumplabel_up: one key in each object
//!   3e                ds, in place of f0 while UP mode is on
//! ```
//!
//! The labels are made by macros of the assembler, because the compiler's lint `named_asm_labels` rejects labels in the text of an `asm!`.
//!
//! Each object has its own key for its lock prefixes, so that no table entry leads to another object. One transaction changes the keys of all
//! objects.

/// The meta word of the entries that `lock_prefix!` emits.
#[cfg(jumplabel_prefixes)]
pub const META: u32 = 24;
#[cfg(jumplabel_prefixes)]
const _: () = assert!(META == (crate::format::PREFIX as u32) << crate::format::KIND_SHIFT);

/// Yields a `lock` prefix for your own assembler: `asm!(lock_prefix!(), "inc dword ptr [{}]", in(reg) place)`. For x86-64 and i686.
///
/// The prefix belongs to the instruction in the next line. Except in [UP mode](crate::up), that instruction is atomic for other processors. The rules
/// of UP mode apply to it. The instruction must be one that can have `lock` (`add`, `adc`, `and`, `btc`, `btr`, `bts`, `cmpxchg`, `cmpxchg8b`,
/// `cmpxchg16b`, `dec`, `inc`, `neg`, `not`, `or`, `sbb`, `sub`, `xadd`, `xor`, with a destination in memory): any other instruction faults, except
/// in UP mode. It must have no segment prefix. Do not use the macro for `xchg`, which locks without a prefix. In the fallback and on Windows, the
/// macro yields a plain `lock`.
///
/// Costs a byte of code, and 16 bytes of read-only table. With `--cfg jumplabel_dylib`, allow labels in the text: `#[allow(named_asm_labels)]`.
#[cfg(jumplabel_prefixes)]
#[macro_export]
macro_rules! lock_prefix {
    () => {
        $crate::__lock_prefix_asm!()
    };
}

/// Yields a plain `lock` for your own assembler, because this build does not patch prefixes:
/// `asm!(lock_prefix!(), "inc dword ptr [{}]", in(reg) place)`. For x86-64 and i686.
#[cfg(all(not(jumplabel_prefixes), any(target_arch = "x86_64", target_arch = "x86")))]
#[macro_export]
macro_rules! lock_prefix {
    () => {
        "lock"
    };
}

/// Yields the assembler text of a lock prefix and of its table entry.
#[cfg(jumplabel_prefixes)]
#[doc(hidden)]
#[macro_export]
macro_rules! __lock_prefix_asm {
    () => {
        ::core::concat!(
            ".ifndef .Ljump_prefixes\n.set .Ljump_prefixes, 0\n",
            $crate::__once_asm!(),
            "\n",
            $crate::__own_key_asm!("__jumplabel_up"),
            ".macro jumplabel_prefix n\n",
            ".Ljump_prefix_\\n\\(): .byte 0xf0\n",
            ".reloc .Ljump_prefix_\\n, BFD_RELOC_NONE, .Ljump_locked_\\n\n",
            ".pushsection __jump_table, \"ao?\", %progbits, .Ljump_prefix_\\n\n",
            ".balign 4\n",
            ".Ljump_locked_\\n\\(): .long .Ljump_prefix_\\n - ., .Ljump_prefix_\\n - ., __jumplabel_up - ., 24\n",
            ".popsection\n.endm\n.endif\n",
            ".set .Ljump_prefixes, .Ljump_prefixes + 1\n.altmacro\njumplabel_prefix %.Ljump_prefixes\n.noaltmacro\n",
        )
    };
}
