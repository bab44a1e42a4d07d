//! The atomics that the counter uses. Here they are the real ones. The model check compiles the counter with its own atomics instead.

pub(super) use core::sync::atomic::{AtomicI32, Ordering};
