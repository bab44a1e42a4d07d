//! Threads take a lock while its waiters are switched. The counter that it guards must be exact, and no thread may sleep for ever.
#![cfg(feature = "blocking")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jumplabel_lock::{Lock, Slow, query, set, set_from_environment, set_in_the_wrong_order};
use jumplabel_testing::scenario::{Scenario, fork, passes, reap, rounds};

static COUNTER: Lock<u64> = Lock::new(0);
const THREADS: u64 = 4;
/// The number of times that any thread took the lock and gave it back.
static PROGRESS: AtomicUsize = AtomicUsize::new(0);

/// Four threads count under the lock until `switch` returns. Checks that the counter is the sum of their own counts.
fn torture(switch: impl FnOnce()) {
    let (stop, total) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut own = 0;
                while !stop.load(Ordering::Relaxed) || own < 1_000 {
                    let mut counter = COUNTER.lock();
                    *counter += 1;
                    if counter.is_multiple_of(64) {
                        // The thread holds the lock meanwhile, so that others have to wait.
                        std::thread::yield_now();
                    }
                    drop(counter);
                    PROGRESS.fetch_add(1, Ordering::Relaxed);
                    own += 1;
                }
                total.fetch_add(own, Ordering::Relaxed);
            });
        }
        switch();
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(*COUNTER.lock(), total.into_inner() as u64);
}

fn switched(switches: usize) {
    torture(|| {
        for number in 0..switches {
            set(if number % 2 == 0 { Slow::Block } else { Slow::Spin }).unwrap();
        }
    });
    println!("{switches} switches, {} times locked", *COUNTER.lock());
}

#[test]
fn switched_under_load() {
    passes(|| switched(rounds(2_000)));
}

#[test]
#[ignore = "some minutes"]
fn switched_a_million_times() {
    switched(1_000_000);
}

#[test]
fn each_way() {
    passes(|| {
        for waiters in [Slow::Spin, Slow::Block, Slow::Spin] {
            set(waiters).unwrap();
            *COUNTER.lock() = 0;
            torture(|| std::thread::sleep(Duration::from_millis(30)));
        }
    });
}

/// In the wrong order, a waiter may sleep while unlocks wake nobody: in the end, all threads sleep.
#[test]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), ignore = "elsewhere each unlock looks for sleepers")]
fn twin_in_the_wrong_order() {
    Scenario::new().fails("asleep for ever", || {
        std::thread::spawn(|| {
            loop {
                let before = PROGRESS.load(Ordering::Relaxed);
                std::thread::sleep(Duration::from_secs(2));
                if PROGRESS.load(Ordering::Relaxed) == before {
                    eprintln!("asleep for ever");
                    std::process::exit(1);
                }
            }
        });
        loop {
            *COUNTER.lock() = 0;
            torture(|| set_in_the_wrong_order(|| std::thread::sleep(Duration::from_millis(50))).unwrap());
            set(Slow::Spin).unwrap();
        }
    });
}

/// The variable `LOCK_WAITERS` sets the way to wait; an unknown value is refused, and changes nothing.
#[test]
fn variable() {
    let variable = |value: &'static str| {
        // SAFETY: this forked child has only one thread.
        unsafe { std::env::set_var("LOCK_WAITERS", value) };
        set_from_environment()
    };
    passes(move || {
        reap(fork(move || {
            // SAFETY: this forked child has only one thread.
            unsafe { std::env::remove_var("LOCK_WAITERS") };
            set_from_environment().unwrap();
            assert_eq!(query(), Slow::Spin);
            variable("block").unwrap();
            assert_eq!(query(), Slow::Block);
            for wrong in ["", "Spin", "block "] {
                let refused = variable(wrong).unwrap_err();
                assert_eq!(
                    refused.to_string(),
                    format!("LOCK_WAITERS is {wrong:?}: set it to spin or to block, or do not set it")
                );
                assert_eq!(query(), Slow::Block);
            }
            variable("spin").unwrap();
            query() == Slow::Spin
        }));
    });
}
