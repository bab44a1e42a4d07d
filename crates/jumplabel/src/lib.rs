//! Static keys for ordinary programs and for kernels. A static key is a switch that costs one instruction at each place that checks it. A flip of the
//! switch rewrites these instructions, safely, while other threads execute them.
//!
//! ```
//! use jumplabel::{static_branch_unlikely, static_key};
//!
//! static_key! { pub static TRACE: false; }
//!
//! fn work(x: u64) -> u64 {
//!     if static_branch_unlikely!(TRACE) { // one nop until TRACE is enabled
//!         eprintln!("work({x})");
//!     }
//!     x + 1
//! }
//!
//! work(1);
//! TRACE.enable()?; // the nop is a jump now, in every thread
//! work(2);
//! # Ok::<(), jumplabel::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | declare keys | [`static_key!`] |
//! | check a key | [`static_branch_likely!`], [`static_branch_unlikely!`], [`static_branch_maybe!`] |
//! | call a function that is chosen at run time | [`static_call!`], [`StaticCall::update`] |
//! | choose among several arms | [`modes!`], [`static_mode!`], [`static_switch!`], [`StaticMode::set`] |
//! | run tiny operations as instructions in line, and choose other code for all of them at run time | [`ops!`], [`Ops::set`] |
//! | have all checks of a key change at one instant | [`naked_key!`], [`NakedKey::get`] |
//! | flip a key | [`RawKey::enable`], [`disable`](RawKey::disable), [`inc`](RawKey::inc), [`dec`](RawKey::dec) |
//! | flip several keys, all or nothing | [`Batch`], [`set_all`] |
//! | have a key that works where the system refuses to patch code | [`OrLoadKey`] |
//! | hold a key in a state for a while | [`RawKey::scoped`] |
//! | have a function called after each change of a key or a mode | [`on_change`], [`RawKey::on_change`] |
//! | rate-limit a flip | [`DeferredKey`] |
//! | make the first flip as cheap as a later one | [`prepare()`] |
//! | find out whether the system allows flips | [`probe`] |
//! | find a key by its name | [`find_key`] |
//! | give a name to a key that is a field or an element | [`record_key!`] |
//! | attach data to a key | [`static_key!`], [`KeyInfo::meta`] |
//! | list keys, static calls, modes and sites | [`for_each_key`], [`for_each_call`], [`for_each_mode`], [`for_each_site`], [`text_reserved`] |
//! | compile other code for a build without sites | [`if_sites!`] |
//! | find the statics that a macro makes inside functions | [`list!`], [`list_element!`], [`List`] |
//! | choose instructions by the processor's features | [`alternative!`], [`alternatives`] |
//! | keep assertions in the release build | [`assertions!`], [`key_assert!`], [`assertion`] |
//! | let probes watch a place in the code | [`tracepoint!`], [`emit!`] |
//! | turn tracepoints on while bpftrace or perf is attached to them | [`usdt`] |
//! | run without `lock` prefixes while there is one thread | [`up`] |
//! | run in a kernel | [`platform::Platform`], [`set_platform`] |
//!
//! Costs: a check is one instruction and 16 bytes of read-only table; a key is 8 bytes. Keys and sites cost nothing at start-up: each object of the
//! program (the executable, each shared library) puts one record into a list, and the first of them also starts the library. docs/how-it-works.md
//! explains the mechanism; docs/safety.md has the promises and their limits.
//!
//! Features:
//! - `linux`: Linux user space, for programs with std and without it. Programs without std link the C library.
//! - `windows`: the same for Windows (x86_64-pc-windows-gnu).
//! - `alloc`: `linux`, and tracepoints and deferred keys for programs without std (on Linux on x86-64, aarch64 and riscv64). These parts need an
//!   allocator, threads and a thread-local variable.
//! - `std` (default): `alloc` and `windows`, tracepoints and deferred keys on every target, and [`RawKey::scoped`].
//!
//! Without these features, the crate depends on nothing outside its repository, and needs a [`platform::Platform`].
//!
//! In the fallback, a check is a load, a test and a jump, with the same API. The fallback is used with `--cfg jumplabel_fallback`, under Miri, and on
//! targets whose code the library cannot patch, such as macOS and WebAssembly. `--cfg jumplabel_dylib` is for Rust `dylib`s: a site finds its key
//! through the GOT.

#![no_std]

#[cfg(jumplabel_threads)]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod alternatives;
pub mod arch;
pub mod assertion;
mod batch;
#[doc(hidden)] // Public for the macros.
pub mod call;
#[cfg(not(jumplabel_sites))]
#[doc(hidden)] // Public for the macros.
pub mod chain;
#[doc(hidden)] // Public for the macros.
pub mod check;
mod error;
pub mod format;
mod inspect;
pub mod key;
#[doc(hidden)] // Public for the macros.
pub mod key_record;
#[doc(hidden)] // Public for the macros.
pub mod list;
mod load;
mod notify;
#[doc(hidden)] // Public for the macros.
pub mod ops;
mod patch;
pub mod platform;
mod raw;
#[cfg(feature = "std")]
mod scoped;
mod site;
mod sort;
#[doc(hidden)] // Public for the macros.
pub mod switch;
#[doc(hidden)] // For the C API.
pub mod text;
#[cfg(jumplabel_threads)]
#[doc(hidden)] // Public for the macros.
pub mod trace;
pub mod up;

pub use batch::{Batch, prepare_keys, set_all};
#[doc(hidden)] // For the C API.
pub use batch::{RawChange, Stay, commit_all, commit_all_by, set_ops};
pub use call::info::CallInfo;
pub use call::{RawCall, StaticCall};
#[doc(hidden)] // For the C API.
pub use error::same_in_c;
pub use error::{Error, ErrorKind, Refusal, Refusals, WriterKind};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use inspect::read_table;
pub use inspect::{
    Site, find_key, for_each_call, for_each_key, for_each_mode, for_each_mode_site, for_each_site, index_bytes,
    loading, text_reserved, text_reserved_locked,
};
#[cfg(jumplabel_threads)]
pub use key::deferred::DeferredKey;
pub use key::flip::restore_pristine;
pub use key::info::KeyInfo;
pub use key::naked::NakedKey;
pub use key::named::NamedKey;
pub use key::{Key, OrLoadKey, RawKey, StaticKey, StaticKeyFalse, StaticKeyTrue};
pub use list::{List, ObjectChange};
pub use load::set_platform;
pub use notify::{AskedBy, Changed, OnChange, on_change};
#[doc(hidden)] // For the C API.
pub use notify::{on_change_raw, remove_raw};
pub use ops::{Ops, RawOps};
pub use patch::{Lock, Outcome, Settable, prepare, probe, verify};
pub use platform::{Visibility, Warnings, set_writer};
#[cfg(feature = "std")]
pub use scoped::KeyGuard;
pub use switch::info::ModeInfo;
pub use switch::{Modes, RawMode, StaticMode};
#[cfg(jumplabel_threads)]
pub use trace::{Probe, Tracepoint, TracepointInfo, for_each_tracepoint, synchronize_probes, usdt};
