//! Static keys for C and C++: `libjumplabel`. It uses the same engine, tables and lock as Rust.
//!
//! ```text
//!   include/jumplabel/jump_label.h      Linux's names: macros, sites             key, lock, deferred, object
//!   include/jumplabel/static_call.h     Linux's names: static calls              call
//!   include/jumplabel.h                 what Linux lacks                         result, batch, list, on_change, warn, say, hook
//!   include/jumplabel/assert.h          assertions that can be turned on         assert
//!   include/jumplabel/kernel.h          the platform of a kernel                 kernel
//!   include/jumplabel/riscv.h           its machine, on RISC-V                   riscv
//!   include/jumplabel/agent.h           for operators                            crate jumplabel-agent-capi
//! ```
//!
//! Functions with Linux's names return what Linux returns. They call the warning hook ([`warn`]) where Linux has a WARN, and if something is refused
//! that a kernel cannot refuse. The other functions return 0 or a negative error number.
//!
//! Every function here checks the address of a key: it must not be null or misaligned, and must be mapped. Only `static_key_fast_inc_not_disabled`
//! leaves out the last check. Otherwise the functions trust the address, as C does.

#![no_std]

#[cfg(feature = "hosted")]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(not(any(feature = "hosted", feature = "kernel")))]
compile_error!("the C API is for programs (feature `std` or `hosted`) or for kernels (feature `kernel`)");

pub mod alternatives;
mod archive;
pub mod assert;
pub mod batch;
pub mod call;
#[cfg(all(feature = "hosted", jumplabel_sites, not(windows), target_arch = "x86_64", target_pointer_width = "64"))]
mod copied;
#[cfg(feature = "hosted")]
pub mod deferred;
mod hook;
#[cfg(all(jumplabel_installed, not(jumplabel_std)))]
mod installed;
#[cfg(feature = "kernel")]
pub mod kernel;
pub mod key;
pub mod list;
pub mod lock;
#[cfg(feature = "kernel")]
mod machine;
pub mod object;
pub mod on_change;
pub mod ops;
pub mod result;
#[cfg(all(feature = "kernel", target_arch = "riscv64"))]
mod riscv;
mod say;
pub mod switch;
mod system;
#[cfg(feature = "hosted")]
pub mod trace;
pub mod up;
#[cfg(feature = "hosted")]
pub mod usdt;
pub mod warn;
