//! Static keys for C and C++: `libjumplabel`. It uses the same engine, tables and lock as Rust. Its headers, and the modules with their functions:
//!
//! ```text
//!   include/jumplabel/jump_label.h      Linux's names: macros, sites             key, lock, deferred, object
//!   include/jumplabel/static_call.h     Linux's names: static calls              call
//!   include/jumplabel/tracepoint.h      Linux's names: tracepoints               trace
//!   include/jumplabel/static_switch.h   N-way switches                           switch
//!   include/jumplabel/pv_ops.h          tables of operations                     ops
//!   include/jumplabel/alternative.h     instructions for some processors         alternatives
//!   include/jumplabel/lock_prefix.h     UP mode: no lock prefixes                up
//!   include/jumplabel/usdt.h            probes of tracers                        usdt
//!   include/jumplabel.h                 functions that Linux lacks               result, errno, batch, list, on_change, warn, say, hook
//!   include/jumplabel/assert.h          assertions that can be turned on         assert
//!   include/jumplabel/kernel.h          the platform of a kernel                 kernel, machine
//!   include/jumplabel/riscv.h           functions for its machine, on RISC-V     riscv
//!   include/jumplabel/agent.h           for operators                            crate jumplabel-agent-capi
//!                                       names that libjumplabel.a hides          archive
//!                                       keys that exist twice in a process       copied
//!                                       parts of std, for libraries without it   installed
//!                                       services of the system                   system
//! ```
//!
//! Functions with Linux's names return what Linux returns. They call the warning hook ([`warn`]) where Linux has a WARN, and also if something is
//! refused that a Linux kernel never refuses. All other functions return 0 or a negative error number.
//!
//! Every function that gets the address of a key checks the address: it must not be null or misaligned, and it must be mapped. Only
//! `static_key_fast_inc_not_disabled` does not check whether it is mapped. Beyond that, the functions trust the address, as C does.

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
mod errno;
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
