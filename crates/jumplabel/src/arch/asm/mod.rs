//! The parts of an instruction set that are not encodings of sites: cache instructions, and the assembler macros that declarations and checks use.
//!
//! The file of an instruction set implements [`Machine`](super::Machine) and defines these macros (tests/contract.rs checks that):
//!
//! | macro | meaning |
//! |---|---|
//! | `__site_options` | a site and its table entry: the options of the inline assembly, the stub that loads, the jump and the nop |
//! | `__nop_asm` | the site as a nop that can become a jump to a target, aligned, after a label |
//! | `__jump_asm` | the site as a jump to a target, aligned, after a label |
//! | `__return_asm` | a C function's return of a number |
//! | `__constructor_asm` | the body of a constructor: calls a function with the address of the object's record |
//! | `__naked_asm` | the body of a naked key's function, with its site after label 2 |
//! | `__trampoline` | a static call's trampoline: its site after label 2, and the jump through the slot |
//! | `__switch_options` | an N-way switch: the options of the inline assembly, the jump, the stub's test, and the code after the site |
//! | `__naked_call` | the check of a naked key: calls the key's function |
//!
//! Code for all instruction sets is in files of its own:
//! * a site and its table entry in `site` (in `x86/short.rs` for sites that are built as plain jumps),
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
