//! The process-wide lock: one at a time, nobody sleeps for ever, re-entry is found.

use jumplabel_model::exclusion::{Core, Exclusion, check};
use jumplabel_model::explore;

#[test]
fn two_threads() {
    println!("once: {} interleavings", check::<Core>(2, 1, None));
    println!("twice: {} interleavings", check::<Core>(2, 2, None));
}

/// With at most five preemptions: all interleavings take too long.
#[test]
fn three_threads() {
    println!("{} interleavings", check::<Core>(3, 1, Some(5)));
}

/// With another thread waiting, so that the word carries the mark in some interleavings.
#[test]
fn reentry_is_found() {
    let interleavings = explore(None, || {
        let lock = loom::sync::Arc::new(Core::new());
        let other = {
            let lock = lock.clone();
            loom::thread::spawn(move || {
                assert!(lock.acquire(2));
                lock.release();
            })
        };
        assert!(lock.acquire(1));
        assert!(!lock.acquire(1));
        lock.release();
        other.join().unwrap();
    });
    println!("{interleavings} interleavings");
}

/// A child of fork frees the lock that its parent's thread took.
#[test]
fn reset_frees() {
    explore(None, || {
        let lock = Core::new();
        assert!(lock.acquire(1));
        lock.reset();
        assert!(lock.acquire(2));
        lock.release();
    });
}
