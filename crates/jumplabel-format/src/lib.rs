//! The contents of [jumplabel](https://docs.rs/jumplabel)'s tables and sites: the constants of the format, and encoders for each
//! instruction set. The library patches with this crate, and tools read files of any target with it. It is ordinary Rust without system
//! calls or assembly, so it is compiled and tested on every host.
//!
//! ```text
//!   arch       x86 aarch64 arm riscv64 riscv32 s390x powerpc64 loongarch64: encoders; word: sites that are one word
//!   kind       the kinds of sites (branch naked jump switch call_site op alternative lock_prefix short loading): their states and steps
//!   pass       how a site changes if one store cannot write it: the three steps of x86 and s390x
//!   contract   what an instruction set is: how far its jumps reach, how a site changes while other threads run it
//!   state      the types Kind and State, which are numbers
//!   front      x86: the byte in front of a site that belongs to its instruction
//!   code       the bytes of a site, and the parts of them that a step writes
//!   layout     the constants of tables, records and notes: the version, names of sections, flags
//! ```
//!
//! To add an instruction set, add an encoder here, and a file in `arch/asm/` of the library; docs/porting.md says what each of the two must
//! guarantee. If one of the two lacks a part, the build fails.

#![no_std]

pub mod arch;
mod code;
mod contract;
pub mod front;
mod kind;
pub mod layout;
mod pass;
mod state;

pub use code::Code;
#[doc(hidden)]
pub use code::{Demand, StepBytes};
pub use contract::Arch;
pub use kind::Sites;
pub use kind::alternative::Alternative;
pub use kind::branch::Branch;
pub use kind::call_site::CallSite;
pub use kind::jump::Jump;
pub use kind::loading::Loading;
pub use kind::lock_prefix::Prefix;
pub use kind::naked::Naked;
pub use kind::op::{Fault, Op};
pub use kind::short::Short;
pub use kind::switch::Switch;
#[doc(hidden)]
pub use kind::{CodeChange, Template};
pub use state::{Kind, Leads, State, Target};
