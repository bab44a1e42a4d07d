//! The atomics under the counter: here the real ones; the model check puts its own in their place.

pub(super) use core::sync::atomic::{AtomicI32, Ordering};
