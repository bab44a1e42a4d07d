//! Flips of keys with 1 to 1,000,000 sites, and of one key beside 0 to 64 threads that execute its sites. Prints a line for each:
//!
//! ```text
//!   sites NUMBER FIRST TIME...      nanoseconds: the first flip, which copies pages, and flips behind it
//!   threads NUMBER TIME...
//! ```
//!
//! With an argument, so many flips of each. The assembler takes a minute for the last million: without the feature `million`, there are
//! 100,000 at most.

#[path = "../../../crates/jumplabel-bench/src/sites.rs"]
mod sites;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jumplabel::{RawKey, static_key};
use sites::{Functions, site_functions};

static_key! {
    static ONE: false;
    static TEN: false;
    static HUNDRED: false;
    /// Around what a byte counts, and, 16 bytes apart, around a page.
    static BELOW_PAGE: false;
    static PAGE: false;
    static ABOVE_PAGE: false;
    static THOUSAND: false;
    static TEN_THOUSAND: false;
    static HUNDRED_THOUSAND: false;
    #[cfg(feature = "million")]
    static MILLION: false;
}

site_functions!("scaling_1", 1, 16, nop, ONE, 0);
site_functions!("scaling_10", 10, 16, nop, TEN, 0);
site_functions!("scaling_100", 100, 16, nop, HUNDRED, 0);
site_functions!("scaling_255", 255, 16, nop, BELOW_PAGE, 0);
site_functions!("scaling_256", 256, 16, nop, PAGE, 0);
site_functions!("scaling_257", 257, 16, nop, ABOVE_PAGE, 0);
site_functions!("scaling_1000", 1000, 16, nop, THOUSAND, 0);
site_functions!("scaling_10000", 10000, 16, nop, TEN_THOUSAND, 0);
site_functions!("scaling_100000", 100000, 16, nop, HUNDRED_THOUSAND, 0);
#[cfg(feature = "million")]
site_functions!("scaling_1000000", 1000000, 16, nop, MILLION, 0);

unsafe extern "C" {
    fn scaling_1();
    fn scaling_10();
    fn scaling_100();
    fn scaling_255();
    fn scaling_256();
    fn scaling_257();
    fn scaling_1000();
    fn scaling_10000();
    fn scaling_100000();
    #[cfg(feature = "million")]
    fn scaling_1000000();
}

/// A key, where its functions begin, how many there are.
fn groups() -> Vec<(&'static RawKey, unsafe extern "C" fn(), usize)> {
    vec![
        (&ONE, scaling_1, 1),
        (&TEN, scaling_10, 10),
        (&HUNDRED, scaling_100, 100),
        (&BELOW_PAGE, scaling_255, 255),
        (&PAGE, scaling_256, 256),
        (&ABOVE_PAGE, scaling_257, 257),
        (&THOUSAND, scaling_1000, 1000),
        (&TEN_THOUSAND, scaling_10000, 10000),
        (&HUNDRED_THOUSAND, scaling_100000, 100000),
        #[cfg(feature = "million")]
        (&MILLION, scaling_1000000, 1000000),
    ]
}

/// Nanoseconds of a flip; and what its sites do then is what they shall.
fn flip(key: &'static RawKey, functions: Functions, on: bool) -> u128 {
    let start = Instant::now();
    let outcome = if on { key.enable() } else { key.disable() };
    let time = start.elapsed().as_nanos();
    let sites = outcome.unwrap_or_else(|error| panic!("{error}")).sites;
    assert_eq!(sites, functions.count);
    for at in [0, functions.count / 2, functions.count - 1] {
        assert_eq!(functions.call(at), on);
    }
    time
}

fn line(name: &str, number: usize, times: impl Iterator<Item = u128>) {
    let times: Vec<String> = times.map(|time| time.to_string()).collect();
    println!("{name} {number} {}", times.join(" "));
}

fn main() {
    let flips: usize = std::env::args().nth(1).map_or(100, |number| number.parse().expect("a number"));
    for (key, first, count) in groups() {
        let functions = Functions { first: first as usize, count, apart: Functions::DENSE };
        line("sites", count, (0..=flips).map(|at| flip(key, functions, at % 2 == 0)));
    }
    let (key, first, count) = groups()[2];
    let functions = Functions { first: first as usize, count, apart: Functions::DENSE };
    for threads in [0, 1, 2, 4, 8, 16, 32, 64] {
        let (stop, barrier) = (&AtomicBool::new(false), &Barrier::new(threads + 1));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(move || {
                    barrier.wait();
                    while !stop.load(Ordering::Relaxed) {
                        (0..count).for_each(|at| _ = functions.call(at));
                        std::thread::yield_now();
                    }
                });
            }
            barrier.wait();
            let start = usize::from(!key.is_enabled());
            line("threads", threads, (0..flips).map(|at| flip(key, functions, (at + start) % 2 == 1)));
            stop.store(true, Ordering::Relaxed);
        });
    }
}
