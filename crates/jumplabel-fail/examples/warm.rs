//! What a fail point costs that is off, in a warm loop: docs/fail.md.

use std::hint::black_box;
use std::time::Instant;

use jumplabel_fail::fail_point;

#[inline(never)]
fn without(number: u64) -> u64 {
    number.wrapping_mul(3) + 1
}

#[inline(never)]
fn with(number: u64) -> u64 {
    fail_point!("warm", |_| 1);
    number.wrapping_mul(3) + 1
}

/// Nanoseconds of a call.
fn time(function: fn(u64) -> u64) -> f64 {
    const CALLS: u32 = 10_000_000;
    let (function, start, mut sum) = (black_box(function), Instant::now(), 0);
    for number in 0..u64::from(CALLS) {
        sum = black_box(function(black_box(number ^ (sum & 1))));
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn main() -> Result<(), String> {
    for (state, configures) in [("no point is configured", false), ("another point is configured", true)] {
        if configures {
            jumplabel_fail::cfg("another", "return")?;
        }
        let mut least = [f64::INFINITY; 2];
        for _ in 0..9 {
            least = [least[0].min(time(without)), least[1].min(time(with))];
        }
        println!("{state}: {:.2} ns a call without a point, {:+.2} with one", least[0], least[1] - least[0]);
    }
    Ok(())
}
