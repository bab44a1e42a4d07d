//! Static keys in a kernel: a ready-made [`Platform`](jumplabel::platform::Platform). A kernel implements [`Machine`], which is a few functions, and
//! calls [`Kernel::start`] before its first flip.
//!
//! ```text
//!   Kernel          the platform: its phases, and the functions that a kernel calls        kernel.rs
//!     Objects       where the kernel and its modules lie, in Bounds                        objects.rs, bounds.rs
//!     Lock          one CPU flips; the others wait, and answer meanwhile                   lock.rs
//!     Rendezvous    all other CPUs stand still while code is written                       rendezvous.rs
//!     AliasWriter   writes through the kernel's alias, and compares it with the text       alias_writer.rs
//!     Memory        pages for the library's lists and indexes                              memory.rs
//!   Machine         the functions that a kernel gives: interrupts, alias, barrier, clock   machine.rs
//!     ready-made functions, from which a kernel can make its Machine                       riscv.rs, aarch64.rs, x86.rs
//! ```
//!
//! | phase | CPUs that run | a flip |
//! |---|---|---|
//! | before [`Kernel::start`] | | returns [`NoPlatform`](jumplabel::Error::NoPlatform) |
//! | early: from then on | the boot CPU | writes |
//! | live: from the first [`Kernel::online`] on | several | stops the other CPUs, writes, makes all CPUs serialise, lets the others go on |
//! | unavailable: from [`Kernel::end`] on | | returns [`NoWriter`](jumplabel::Error::NoWriter) |
//!
//! Nothing in this crate allocates, or has sites of its own.

#![no_std]

#[cfg(test)]
extern crate std;

#[cfg(target_arch = "aarch64")]
pub mod aarch64;
mod alias_writer;
mod bounds;
mod kernel;
mod lock;
mod machine;
mod memory;
mod objects;
mod rendezvous;
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
pub mod riscv;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub mod x86;

pub use bounds::Bounds;
pub use kernel::Kernel;
pub use machine::Machine;
pub use memory::Memory;

/// The error number in the [`Refusal`](jumplabel::Refusal) of a flip if a CPU did not answer in time. [`Kernel::late`] says which CPU.
pub const TIMED_OUT: i32 = 110;
