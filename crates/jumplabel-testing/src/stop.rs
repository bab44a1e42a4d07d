//! A flag that ends the other threads of a test.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the flag when it is dropped. So the threads that watch the flag end even if this thread's test fails.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
