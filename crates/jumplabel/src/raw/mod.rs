//! Keys, static calls, modes and tables of operations without their types. Each of these is a few words in memory, which a program declares. Table
//! entries lead to the words, and transactions change them.
//!
//! The modules for users (`key`, `call`, `switch`, `ops`) give these words types. The module `patch` makes the code agree with the words. This module
//! uses neither `patch` nor the modules for users.

#[cfg(jumplabel_alternatives)]
pub(crate) mod alternatives;
mod atomic;
pub(crate) mod call;
pub mod count;
mod flags;
pub(crate) mod key;
pub(crate) mod mode;
pub(crate) mod ops;
