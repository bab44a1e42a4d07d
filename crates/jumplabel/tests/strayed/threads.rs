//! Threads that flip, one that strays the sites, one that verifies, and others that execute them.
//!
//! The thread that strays sites holds the library's lock meanwhile. Between two steps of a flip, nobody may change the bytes of a site.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jumplabel::{set_writer, verify};
use jumplabel_testing::scenario::{Scenario, passes};
use jumplabel_testing::{pages, writers};

use super::text::WAYS;

pages::pages! { sites: 8 keys, 64 sites, every 1 pages, at 4093 }

/// The counts of what happened.
#[derive(Default)]
struct Counts {
    executions: AtomicU64,
    flips: AtomicU64,
    strays: AtomicU64,
    repaired: AtomicU64,
}

/// Runs until the time is over and all of that has happened. `mend` brings the sites back.
fn run(mend: fn() -> usize) -> Counts {
    let seconds = std::env::var("JUMPLABEL_STRAY_SECONDS").map_or(1, |seconds| seconds.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let (counts, stop, still) = (Counts::default(), AtomicBool::new(false), Mutex::new(()));
    std::thread::scope(|scope| {
        let (counts, stop, still) = (&counts, &stop, &still);
        let go_on = || !stop.load(Ordering::Relaxed);
        for first in 0..2 {
            scope.spawn(move || {
                while go_on() {
                    (first..sites().count).for_each(|site| _ = sites().check(site));
                    counts.executions.fetch_add(64, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(move || {
            let mut random = fastrand::Rng::with_seed(7);
            while go_on() {
                let (key, on) = (&sites().keys[random.usize(..8)], random.bool());
                let _still = still.lock().unwrap();
                let result = match random.u8(..8) {
                    0 => jumplabel::restore_pristine(key),
                    _ if on => key.enable(),
                    _ => key.disable(),
                };
                result.unwrap();
                counts.flips.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(move || {
            for way in WAYS.into_iter().cycle().take_while(|_| go_on()) {
                let _still = still.lock().unwrap();
                way.stray();
                counts.strays.fetch_add(1, Ordering::Relaxed);
            }
        });
        // This thread stops the other two, and then all sites must be right.
        for round in 0.. {
            set_writer(writers::turn(round));
            let held = still.lock().unwrap();
            let repaired = mend();
            counts.repaired.fetch_add(repaired as u64, Ordering::Relaxed);
            let agree = sites().agree();
            drop(held);
            let happened = |count: &AtomicU64| count.load(Ordering::Relaxed) > 20;
            let all = [&counts.executions, &counts.flips, &counts.strays, &counts.repaired].into_iter().all(happened);
            if !agree || all && Instant::now() > end {
                stop.store(true, Ordering::Relaxed);
                assert!(agree, "a site is astray");
                return;
            }
            std::thread::yield_now();
        }
    });
    counts
}

/// `JUMPLABEL_STRAY_SECONDS=3600 JUMPLABEL_SLOWNESS=40` makes it an hour: a scenario ends after 120 s, or after so many times 120 s.
#[test]
fn strayed_while_others_flip_and_verify() {
    passes(|| {
        let counts = run(|| verify().unwrap().sites);
        let [executions, flips, strays, repaired] =
            [counts.executions, counts.flips, counts.strays, counts.repaired].map(AtomicU64::into_inner);
        println!("{executions} executions, {flips} flips, {strays} times astray, {repaired} sites brought back");
    });
}

/// A twin that looks at nothing.
#[test]
fn a_twin_that_does_not_look_is_found_out() {
    Scenario::new().fails("a site is astray", || {
        run(|| 1);
    });
}
