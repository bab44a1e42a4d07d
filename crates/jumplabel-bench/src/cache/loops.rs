//! The three loops of the note on static keys for a Rust kernel. A loop makes checks, fills the caches, and makes checks again. A fill takes a
//! thousand times as long as a check that misses, so the times of two whole loops differ mostly by their fills. Therefore the checks are also timed
//! alone.

use core::arch::x86_64::{_mm_lfence, _rdtsc};
use std::hint::black_box;

use super::fill::Fill;
use super::ways::{CHECKS, Run};

/// A loop of the note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    Single,
    Concentrated,
    Scattered,
}

pub const LOOPS: [Loop; 3] = [Loop::Single, Loop::Concentrated, Loop::Scattered];

/// The number of flags in the scattered loop.
const SCATTERED: usize = 100;

impl Loop {
    pub fn name(self) -> &'static str {
        match self {
            Loop::Single => "single",
            Loop::Concentrated => "concentrated",
            Loop::Scattered => "scattered",
        }
    }

    /// A text that shows what the loop does and how often: checks, fills and repetitions.
    pub fn shape(self, quick: bool) -> String {
        let times = self.times(quick);
        match self {
            Loop::Single => format!("{times} x {{1, fill, 1}}"),
            Loop::Concentrated => format!("{times} x {{{CHECKS}, fill, {CHECKS}}}"),
            Loop::Scattered => format!("{times} x {SCATTERED} x {{1, fill}}"),
        }
    }

    /// The number of repetitions. The note does not give the number for the single loop.
    fn times(self, quick: bool) -> usize {
        match self {
            Loop::Single => 10,
            Loop::Concentrated if quick => 5,
            Loop::Concentrated => 100,
            Loop::Scattered if quick => 1,
            Loop::Scattered => 10,
        }
    }

    /// The number of checks in all repetitions.
    pub fn checks(self, quick: bool) -> usize {
        let of_one = match self {
            Loop::Single => 2,
            Loop::Concentrated => 2 * CHECKS,
            Loop::Scattered => SCATTERED,
        };
        self.times(quick) * of_one
    }

    /// Runs the loop with all its repetitions.
    pub fn run(self, run: Run, fill: &Fill, quick: bool) -> Ticks {
        let start = ticks();
        let mut checks = 0;
        let mut timed = |from: usize, to: usize| {
            let start = ticks();
            black_box(run(black_box(from), black_box(to)));
            checks += ticks() - start;
        };
        for time in 0..self.times(quick) {
            match self {
                Loop::Single => {
                    timed(time, time + 1);
                    fill.fill();
                    timed(time, time + 1);
                }
                Loop::Concentrated => {
                    timed(0, CHECKS);
                    fill.fill();
                    timed(0, CHECKS);
                }
                Loop::Scattered => (0..SCATTERED).for_each(|at| {
                    timed(at, at + 1);
                    fill.fill();
                }),
            }
        }
        Ticks { checks, whole: ticks() - start }
    }
}

/// Ticks of the time stamp counter.
pub struct Ticks {
    /// The ticks of the checks alone, with the time to read the counter.
    pub checks: u64,
    /// The ticks of the whole loop.
    pub whole: u64,
}

/// Reads the counter after all earlier instructions are done, and before any later instruction begins.
fn ticks() -> u64 {
    // SAFETY: every x86-64 has both instructions.
    unsafe {
        _mm_lfence();
        let now = _rdtsc();
        _mm_lfence();
        now
    }
}

/// The nanoseconds of a tick, measured against the clock for a hundredth of a second.
pub fn nanoseconds() -> f64 {
    let (start, first) = (std::time::Instant::now(), ticks());
    while start.elapsed().as_millis() < 10 {}
    start.elapsed().as_nanos() as f64 / (ticks() - first) as f64
}
