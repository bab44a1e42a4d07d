//! Static keys for ordinary programs and for kernels: switches that cost one instruction where they are checked, because
//! flipping a switch rewrites the code, safely, while other threads run it.
//!
//! ```
//! use jumplabel::{static_branch_unlikely, static_key};
//!
//! static_key! { pub static TRACE: false; }
//!
//! fn work(x: u64) -> u64 {
//!     if static_branch_unlikely!(TRACE) { // one 5-byte nop until TRACE is enabled
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
//! | check one | [`static_branch_likely!`], [`static_branch_unlikely!`], [`static_branch_maybe!`] |
//! | have all checks of a key change at one instant | [`naked_key!`], [`NakedKey::get`] |
//! | flip one | [`RawKey::enable`], [`disable`](RawKey::disable), [`inc`](RawKey::inc), [`dec`](RawKey::dec) |
//! | flip several, all or nothing | [`Batch`], [`set_all`] |
//! | hold one in a state for a while | [`RawKey::scoped`] |
//! | rate-limit a flip | [`DeferredKey`] |
//! | have the first flip cost what a later one does | [`prepare()`] |
//! | know whether flips will be allowed | [`probe`] |
//! | find a key by its name | [`find_key`] |
//! | have keys found that are fields or elements | [`record_key!`] |
//! | add something to a key | [`static_key!`], [`KeyInfo::meta`] |
//! | list keys and sites | [`for_each_key`], [`for_each_site`], [`text_reserved`] |
//! | run in a kernel | [`text::Text`], [`set_text`] |
//!
//! Costs: a check is one instruction and 16 bytes of read-only table; a key is 8 bytes; a program that never flips does
//! nothing at start-up but link one record for each object. docs/how-it-works.md explains the mechanism, docs/safety.md
//! what is promised and what is trusted.
//!
//! Features: `std` (default) is Linux user space; without it the crate is `no_std`, has no dependency, and needs a
//! [`text::Text`]. `--cfg jumplabel_fallback`, Miri and instruction sets without an arch file make a check a load, a test
//! and a jump, with the same API. `--cfg jumplabel_dylib` is for Rust `dylib`s: keys are found by way of the GOT.

#![no_std]

#[cfg(feature = "std")]
extern crate std;

pub mod arch;
mod batch;
#[doc(hidden)] // Public for the macros.
pub mod branch;
mod error;
pub mod format;
mod inspect;
pub mod key;
mod load;
mod patch;
#[cfg(feature = "std")]
mod scoped;
mod site;
mod sort;
pub mod text;

pub use batch::Batch;
#[cfg(feature = "std")]
pub use batch::set_all;
pub use error::{Errno, Error, Refusals, WriterKind};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use inspect::read_table;
pub use inspect::{Site, find_key, for_each_key, for_each_site, index_bytes, text_reserved, text_reserved_locked};
#[cfg(feature = "std")]
pub use key::deferred::DeferredKey;
pub use key::flip::settle;
pub use key::info::KeyInfo;
pub use key::naked::NakedKey;
pub use key::{Key, RawKey, StaticKey, StaticKeyFalse, StaticKeyTrue};
pub use load::set_text;
pub use patch::{Lock, Outcome, prepare, probe};
#[cfg(feature = "std")]
pub use scoped::KeyGuard;
pub use text::{Visibility, Warnings, set_writer};
