//! The lock under threads, while what its waiters do is switched: the counter that it guards is exact, and nobody sleeps for ever.
#![cfg(feature = "blocking")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jumplabel_lock::{Lock, Slow, set, set_in_the_wrong_order};
use jumplabel_testing::scenario::{Scenario, passes, rounds};

static COUNTER: Lock<u64> = Lock::new(0);
const THREADS: u64 = 4;
/// How often it was taken and given back.
static PROGRESS: AtomicUsize = AtomicUsize::new(0);

/// Counts by four threads until `switch` returns; what they counted, and what the lock guards.
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
                        // While it is held: then others wait.
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

/// Waiters that sleep while unlocks wake nobody: in the end all of them do.
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

/// Without the feature, a program with the lock has nothing of the library: no site, no byte.
#[test]
fn nothing_without_the_feature() {
    let tree = |features: &[&str]| {
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.args(["tree", "--offline", "-p", "jumplabel-lock", "-e", "normal", "--prefix", "none"]).args(features);
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let has = |tree: &str| tree.lines().any(|line| line.starts_with("jumplabel v"));
    assert!(!has(&tree(&[])) && has(&tree(&["--features", "blocking"])), "{}", tree(&[]));
}
