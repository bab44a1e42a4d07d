//! The atomics of the counter: those of `core`. The model check (test-crates/model) compiles the counter with its own atomics instead.

pub(super) use core::sync::atomic::{AtomicI32, Ordering};
