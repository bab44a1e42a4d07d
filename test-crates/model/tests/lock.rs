//! The process-wide lock: one at a time, nobody sleeps for ever, re-entry is found.

use jumplabel_model::exclusion::{Core, Exclusion, FORKING, KILLED, Unnamed, check, check_takeover};
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
                lock.release(2);
            })
        };
        assert!(lock.acquire(1));
        assert!(!lock.acquire(1));
        lock.release(1);
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
        lock.release(2);
    });
}

/// From a thread that was killed, by whoever finds out first.
#[test]
fn taken_over_from_the_dead() {
    println!("{} interleavings", check_takeover::<Core>(KILLED, Some(4)));
}

/// From a fork that takes too long; the thread that forked lets go later, or in the same moment.
#[test]
fn taken_over_from_a_fork() {
    println!("{} interleavings", check_takeover::<Core>(1 | FORKING, Some(4)));
}

/// Who lets go of a lock that was taken over would let two in.
#[test]
#[should_panic]
fn broken_twin_releases_what_was_taken_over() {
    check_takeover::<Unnamed>(1 | FORKING, Some(4));
}
