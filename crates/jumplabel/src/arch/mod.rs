//! The instruction set that this crate is compiled for: what its processors need after stores to code, and the assembler that macros emit.
//! The crate jumplabel-format knows what sites hold, on all instruction sets.
//!
//! ```text
//!   asm        by instruction set: cache instructions, assembler macros
//!   machine    the contract of a processor: what it needs after stores to code
//!   caches     the acts of cache maintenance, in their order
//!   memory     stores to code, and reads of code
//!   features   the features of the processor, by name
//!   no_sites   stands for an instruction set in a build without sites
//!   thread     a variable of each thread, without std
//! ```
//!
//! To add an instruction set, add an encoder to jumplabel-format and a file in asm/, and name the instruction set in build.rs; docs/porting.md
//! says what the encoder and the file must guarantee. tests/contract.rs checks that the macros are complete.
//!
//! This module makes no system call, and leaves all decisions to other modules.

#[cfg_attr(not(jumplabel_user_space), allow(dead_code))]
pub(crate) mod asm;
mod caches;
#[cfg(jumplabel_alternatives)]
pub(crate) mod features;
mod machine;
mod memory;
#[cfg(not(jumplabel_sites))]
mod no_sites;
#[cfg(all(jumplabel_threads, jumplabel_linux, any(test, not(feature = "std")), jumplabel_thread_variable))]
pub(crate) mod thread;

#[cfg(all(jumplabel_in_place, target_arch = "x86_64"))]
#[doc(hidden)]
pub use asm::x86::thunk::__op_thunk;
pub use caches::{Act, Caches, maintain};
#[allow(unused_imports)] // Not every instruction set uses all of these.
pub(crate) use jumplabel_format::{
    Alternative, Arch, Branch, CodeChange, Demand, Fault, Kind, Leads, Op, Sites, StepBytes, Target, Template,
};
pub use jumplabel_format::{Code, State};
pub use machine::Machine;
pub use memory::store;
pub(crate) use memory::{AHEAD, prefetch_to_read, read_code, read_one};
#[allow(unused_imports)] // For the writers of Linux user space.
pub(crate) use memory::{prefetch_to_write, touch_word};

// The instruction set that this crate is compiled for.
#[cfg(not(jumplabel_sites))]
pub use no_sites::Fallback as Native;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "aarch64"))]
pub type Native = jumplabel_format::arch::aarch64::Aarch64;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "arm"))]
pub type Native = jumplabel_format::arch::arm::Arm;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "loongarch64"))]
pub type Native = jumplabel_format::arch::loongarch64::Loongarch64;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "powerpc64"))]
pub type Native = jumplabel_format::arch::powerpc64::Powerpc64;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "riscv32"))]
pub type Native = jumplabel_format::arch::riscv32::Riscv32;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "riscv64"))]
pub type Native = jumplabel_format::arch::riscv64::Riscv64;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "s390x"))]
pub type Native = jumplabel_format::arch::s390x::S390x;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "x86"))]
pub type Native = jumplabel_format::arch::x86::X86<32>;
/// The instruction set that this crate is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "x86_64"))]
pub type Native = jumplabel_format::arch::x86::X86<64>;
