//! Loom's atomics, with a bell in front of each load.
//!
//! Loom tries no second order of two accesses that it takes to be independent, as two loads are, and remembers only the
//! last access to an atomic. So a store of a thread is not tried before a load of another where the thread has loaded
//! itself in between: just what compare-and-swap loops do. The bell is an atomic of its own that every load swaps first.
//! Swaps depend on each other, so that loom tries all orders of the loads, and then of what follows. The bell is relaxed:
//! it orders no memory.

use loom::sync::atomic::{self, AtomicUsize};

pub use loom::sync::atomic::Ordering;

/// An `AtomicI32` whose loads are tried in all orders.
#[derive(Debug)]
pub struct AtomicI32 {
    bell: AtomicUsize,
    word: atomic::AtomicI32,
}

impl AtomicI32 {
    /// As the standard library's, and so are the others.
    #[must_use]
    pub fn new(value: i32) -> Self {
        AtomicI32 { bell: AtomicUsize::new(0), word: atomic::AtomicI32::new(value) }
    }

    #[allow(missing_docs)]
    pub fn load(&self, order: Ordering) -> i32 {
        self.bell.swap(0, Ordering::Relaxed);
        self.word.load(order)
    }

    #[allow(missing_docs)]
    pub fn store(&self, value: i32, order: Ordering) {
        self.word.store(value, order);
    }

    #[allow(missing_docs)]
    pub fn compare_exchange(&self, now: i32, new: i32, success: Ordering, failure: Ordering) -> Result<i32, i32> {
        self.word.compare_exchange(now, new, success, failure)
    }

    #[allow(missing_docs)]
    pub fn compare_exchange_weak(&self, now: i32, new: i32, success: Ordering, failure: Ordering) -> Result<i32, i32> {
        self.word.compare_exchange_weak(now, new, success, failure)
    }
}
