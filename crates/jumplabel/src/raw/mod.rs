//! Keys, static calls, modes and tables of operations without their types: the words that programs declare, that tables point to, and that
//! transactions change.
//!
//! Features make typed things of them; `patch` makes code agree with them. What is here knows neither.

#[cfg(jumplabel_alternatives)]
pub(crate) mod alternatives;
mod atomic;
pub(crate) mod call;
pub mod count;
mod flags;
pub(crate) mod key;
pub(crate) mod mode;
pub(crate) mod ops;
