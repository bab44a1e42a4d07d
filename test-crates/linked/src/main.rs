//! Calls, changes them under running threads, and prints what they returned. With a path, loads a library, and does that there as well.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use hooks::{QUIET, SHARED, ZERO, one};
use jumplabel::{Batch, modes, static_branch_unlikely, static_call, static_key, static_mode, static_switch};

fn two(number: u64) -> u64 {
    number.wrapping_add(2)
}

fn three(number: u64) -> u64 {
    number.wrapping_add(3)
}

static_call! {
    static OWN: fn(u64) -> u64 = two;
}

static_key! {
    static KEY: false;
}

modes! {
    pub enum Mode { Low, High }
}

static_mode! {
    static MODE: Mode = Low;
}

static QUIETLY: AtomicU64 = AtomicU64::new(0);

/// One of each, and what it adds.
#[inline(never)]
fn all(number: u64) -> u64 {
    let mut number = OWN(SHARED(number));
    if static_branch_unlikely!(KEY) {
        number += 100;
    }
    number += OWN(0) + hooks::here(0) + ZERO(7);
    QUIET(1);
    static_switch!(MODE, {
        Low => number,
        High => number + 1000,
    })
}

#[inline(never)]
fn tail(number: u64) -> u64 {
    OWN(number)
}

fn main() -> Result<(), jumplabel::Error> {
    assert_eq!((all(0), tail(0), hooks::tail(0)), (1 + 2 + 2 + 2, 2, 1), "as in the file");
    // Calls, a key and a mode in one change, while others call.
    let (stop, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    let off = 7;
    std::thread::scope(|scope| {
        let calling = || {
            while !stop.load(Relaxed) {
                let (own, shared) = (tail(0), hooks::tail(0));
                assert!(matches!(own, 2 | 3) && matches!(shared, 1..=3), "{own} {shared}");
                std::hint::black_box(all(0));
                calls.fetch_add(1, Relaxed);
            }
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(calling)).collect();
        while calls.load(Relaxed) < 2 {
            std::thread::yield_now();
        }
        for round in 0..200 {
            let on = round % 2 == 0;
            let batch = Batch::new().set(&OWN, if on { three } else { two }).set(&SHARED, if on { two } else { one });
            let batch = batch.set(&ZERO, if on { |_| 5 } else { |_| 0 }).set(&QUIET, on.then_some(quietly));
            let batch = batch.set(&MODE, if on { Mode::High } else { Mode::Low });
            let done = if on { batch.enable(&KEY).commit() } else { batch.disable(&KEY).commit() };
            done.unwrap();
            let expected = if on { 2 + 3 + 100 + 3 + 4 + 5 + 5 + 1000 } else { off };
            assert_eq!(all(0), expected, "round {round}");
        }
        stop.store(true, Relaxed);
        assert!(threads.into_iter().all(|thread| thread.join().is_ok()));
    });
    assert!(QUIETLY.load(Relaxed) > 0);
    let sites = |wanted: &str| {
        let mut count = 0;
        jumplabel::for_each_call(|call| count += if call.path.ends_with(wanted) { call.sites } else { 0 })?;
        Ok::<_, jumplabel::Error>(count)
    };
    println!("{} sites of OWN, {} of SHARED", sites("::OWN")?, sites("::SHARED")?);
    println!("ok");
    Ok(())
}

fn quietly(number: u64) {
    QUIETLY.fetch_add(number, Relaxed);
}
