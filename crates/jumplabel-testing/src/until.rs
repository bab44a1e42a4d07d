//! Waiting for another process, however busy the machine is.

use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(180);

/// Waits until `is_so` returns true.
///
/// # Panics
/// After three minutes.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
