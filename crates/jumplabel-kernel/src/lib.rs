//! Static keys in a kernel: the parts of a [`Platform`](jumplabel::platform::Platform), ready-made. A kernel gives a few functions, the [`Machine`],
//! and calls [`Kernel::start`] before its first flip.
//!
//! ```text
//!   Kernel      the platform: phases, objects, what a flip does                       kernel.rs
//!     Objects   where the kernel and its modules lie, in Bounds                        objects.rs, bounds.rs
//!     Lock      one CPU flips; the others wait, and answer meanwhile                   lock.rs
//!     Rendezvous    all other CPUs stand still while code is written                   rendezvous.rs
//!     AliasWriter   writes through the kernel's alias, and compares it with the text      alias_writer.rs
//!     Memory    pages for lists and indexes, in a static of the kernel's              memory.rs
//!   Machine     the functions that a kernel gives: interrupts, alias, barrier, clock   machine.rs
//!     such functions, ready-made                                         riscv.rs, aarch64.rs, x86.rs
//! ```
//!
//! | phase | who runs | what a flip does |
//! |---|---|---|
//! | before [`Kernel::start`] | | [`NoPlatform`](jumplabel::Error::NoPlatform) |
//! | early, from then on | the boot CPU | writes |
//! | live, from the first [`Kernel::online`] on | several CPUs | stops the others, writes, has all serialise, lets them go |
//! | unavailable, from [`Kernel::end`] on | | [`NoWriter`](jumplabel::Error::NoWriter) |
//!
//! Nothing here allocates, or has sites of its own.

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

/// The error number in a [`Refusal`](jumplabel::Refusal) if a CPU did not answer in time. [`Kernel::late`] says which one.
pub const TIMED_OUT: i32 = 110;
