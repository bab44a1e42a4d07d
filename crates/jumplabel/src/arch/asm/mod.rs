//! The parts of a target that are not its encodings: cache instructions, and the assembler macros that `static_key!`, the checks and `naked_key!`
//! use.
//!
//! The file of an instruction set implements [`Machine`](super::Machine) and defines these macros (tests/contract.rs checks that):
//!
//! | macro | meaning |
//! |---|---|
//! | `__site_options` | a site and its table entry: the options of the inline assembly, the jump and the nop in one line each |
//! | `__nop_asm` | the site as a nop that can become a jump to a target, aligned, after a label |
//! | `__jump_asm` | the site as a jump to a target, aligned, after a label |
//! | `__return_asm` | a C function's return of a number |
//! | `__constructor_asm` | a constructor: calls a function of one argument with the object's record |
//! | `__naked_asm` | the function of a naked key: its site, after a label, and what it returns |
//! | `__trampoline` | a static call's trampoline: its site after label 2, and the way by the slot |
//! | `__switch_options` | an N-way switch: the options of the inline assembly, the jump, the test of the stub and what is after the site |
//! | `__naked_call` | the check of a naked key: calls the key's function |
//!
//! Code for all instruction sets is in files of its own:
//! * a site and its table entry in `site` (for sites that are built as plain jumps, `x86/short.rs`),
//! * the object's record and the contents of the sections of an ELF file in `object`; for PE files, in `pe`,
//! * the table entry of a naked key's function in `naked`,
//! * the byte in front of a site in `x86/site_prefix.rs`,
//! * the note of a tracepoint in `usdt`,
//! * the function of the self-test in `self_test`.
//!
//! Some macros are the same for several instruction sets. `word` has `__nop_asm`, `__jump_asm` and `__switch_options` for instruction sets
//! with a `nop` and a `b` of one word. `naked` has `__naked_asm` for instruction sets whose manual lets a program change only the nop and
//! the jump of a site while other threads execute them.

mod call;
mod naked;
#[cfg(not(jumplabel_windows))]
mod object;
pub(crate) mod op;
#[cfg(jumplabel_windows)]
mod pe;
pub(crate) mod self_test;
mod site;
mod switch;
mod usdt;
#[cfg(all(
    jumplabel_sites,
    any(target_arch = "aarch64", target_arch = "arm", target_arch = "powerpc64", target_arch = "loongarch64")
))]
mod word;
pub(crate) mod x86;

#[cfg(all(jumplabel_sites, not(any(target_arch = "x86_64", target_arch = "x86"))))]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(any(target_arch = "riscv32", target_arch = "riscv64"), path = "riscv.rs")]
#[cfg_attr(target_arch = "s390x", path = "s390x.rs")]
#[cfg_attr(target_arch = "powerpc64", path = "powerpc64.rs")]
#[cfg_attr(target_arch = "arm", path = "arm.rs")]
#[cfg_attr(target_arch = "loongarch64", path = "loongarch64.rs")]
mod machine;
