//! Keys, static calls, modes and tables of operations without their types. These are words in memory. Programs declare them, table entries point
//! to them, and transactions change them.
//!
//! The modules for users (`key`, `call`, `switch`, `ops`) give these words types. `patch` makes the code agree with the words. This module uses
//! none of those modules.

#[cfg(jumplabel_alternatives)]
pub(crate) mod alternatives;
mod atomic;
pub(crate) mod call;
pub mod count;
mod flags;
pub(crate) mod key;
pub(crate) mod mode;
pub(crate) mod ops;
