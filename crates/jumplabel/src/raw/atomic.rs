//! The atomics that the counter uses. These are the real ones; the model check puts its own in their place.

pub(super) use core::sync::atomic::{AtomicI32, Ordering};
