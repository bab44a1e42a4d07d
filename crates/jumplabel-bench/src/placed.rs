//! Placements: each loop is compiled so often, each time 16 bytes further into two lines of the cache, with flags of its own, and is run
//! with the stack somewhere else. One build of the same check can be some per cent slower or faster than none by its place alone. (Compilers
//! begin a loop at a multiple of 16: fewer bytes would not move it.)
//!
//! ```text
//!   a round      all variants, in random order, in one placement: differences and ratios are of one round
//!   the figure   of each placement the median of its rounds; of these the median, the least and the most
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::report::{Target, figure};
use crate::samples::{Samples, time};

/// How many there are.
pub const PLACEMENTS: usize = 8;

/// A loop: takes the number of turns.
pub type Loop = fn(u64) -> u64;

/// One in all of them.
pub type Loops = [Loop; PLACEMENTS];

/// A function with a constant for its placement, in all of them.
macro_rules! placements {
    ($name:ident) => {
        [$name::<0>, $name::<1>, $name::<2>, $name::<3>, $name::<4>, $name::<5>, $name::<6>, $name::<7>]
    };
}

/// Where the loop behind it begins, in placement `$at`: so that copies are not made one, either.
macro_rules! begin_at {
    ($at:expr) => {
        // SAFETY: a jump over what moves the loop.
        unsafe {
            ::std::arch::asm!(
                $crate::isa::next_line!("128", "16 * {at}"),
                at = const $at, options(nomem, nostack, preserves_flags)
            )
        }
    };
}
pub(crate) use {begin_at, placements};

/// Runs a loop in one placement, its stack so many frames further down.
pub fn run(loops: &Loops, placement: usize, turns: u64) -> u64 {
    #[inline(never)]
    fn below(frames: usize, run: Loop, turns: u64) -> u64 {
        let room = black_box([0_u8; 40]);
        let result = if frames == 0 { run(turns) } else { below(frames - 1, run, turns) };
        result ^ u64::from(black_box(room[0]))
    }
    below(placement, loops[placement], black_box(turns))
}

/// Nanoseconds of so many turns in one placement. What predicts branches, and the code, are warm.
pub fn nanoseconds(loops: &Loops, placement: usize, turns: u64) -> f64 {
    black_box(run(loops, placement, turns / 50));
    time(|| _ = black_box(run(loops, placement, turns)))
}

/// Rounds until the time is over: in each, `sample` is called with its placement and the number of each variant, in random order. All placements
/// have as many, one at least.
pub fn rounds(budget: Duration, variants: usize, mut sample: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let mut order: Vec<usize> = (0..variants).collect();
    let start = Instant::now();
    loop {
        for placement in 0..PLACEMENTS {
            fastrand::shuffle(&mut order);
            order.iter().try_for_each(|&at| sample(placement, at))?;
        }
        if start.elapsed() >= budget {
            return Ok(());
        }
    }
}

/// Of one thing, in each placement.
#[derive(Clone, Default)]
pub struct Placed([Samples; PLACEMENTS]);

/// The median of the placements, the least and the most.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub range: [f64; 2],
}

impl Placed {
    pub fn push(&mut self, placement: usize, sample: f64) {
        self.0[placement].push(sample);
    }

    /// Rounds in all placements.
    pub fn rounds(&self) -> usize {
        self.0.iter().map(Samples::len).sum()
    }

    pub fn spread(&self) -> Spread {
        Spread::of(self.0.iter().map(Samples::median))
    }

    /// More than another.
    pub fn minus(&self, other: &Placed) -> Spread {
        Spread::of(self.0.iter().zip(&other.0).map(|(own, other)| own.minus(other).median()))
    }

    /// As a multiple of another.
    pub fn over(&self, other: &Placed) -> Spread {
        Spread::of(self.0.iter().zip(&other.0).map(|(own, other)| own.over(other).median()))
    }

    /// All of them, whatever their placement.
    pub fn all(&self) -> Samples {
        let mut all = Samples::default();
        self.0.iter().flat_map(Samples::iter).for_each(|sample| all.push(sample));
        all
    }
}

impl Spread {
    /// What has no sample yet takes no part.
    fn of(medians: impl Iterator<Item = f64>) -> Spread {
        let mut all = Samples::default();
        medians.filter(|median| !median.is_nan()).for_each(|median| all.push(median));
        Spread { median: all.median(), range: [all.quantile(0.0), all.quantile(1.0)] }
    }

    pub fn times(self, factor: f64) -> Spread {
        Spread { median: self.median * factor, range: self.range.map(|end| end * factor) }
    }

    /// The cells figure, from, to, limit and verdict, and the target. What is not told from `nothing` keeps each limit that `nothing` keeps.
    pub fn judged(self, limit: f64, nothing: f64) -> ([String; 5], Value) {
        let none = self.verdict(nothing);
        let is_kept = !none.is_empty() && nothing <= limit;
        let target = Target { figure: self.median, limit };
        let [_, least, verdict] = target.cells();
        let verdict = match (is_kept, none) {
            (true, none) => format!("ok; {none}"),
            (false, "") => verdict,
            (false, none) => format!("{verdict}; {none}"),
        };
        let mut json = target.json();
        if is_kept {
            json["ok"] = true.into();
        }
        let [median, from, to] = [self.median, self.range[0], self.range[1]].map(|value| figure(value, 3));
        ([median, from, to, least, verdict], json)
    }

    /// What is to be said beside a figure that is `nothing` if there is no difference: 0 for nanoseconds, 1 for a ratio. What no clock
    /// tells from it is none, either.
    pub fn verdict(self, nothing: f64) -> &'static str {
        const UNSEEN: f64 = 0.001;
        let [least, most] = self.range;
        if least <= nothing + UNSEEN && nothing - UNSEEN <= most { "no difference measured" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Placements that differ by more than the variants do not make a difference, and rounds are compared within a placement only.
    #[test]
    fn spreads() {
        let [mut own, mut other] = [Placed::default(), Placed::default()];
        for placement in 0..PLACEMENTS {
            for round in 0..3 {
                let base = f64::from(10 * round) + 100.0 * placement as f64;
                other.push(placement, base);
                own.push(placement, base + 1.0 + placement as f64);
            }
        }
        let more = own.minus(&other);
        assert_eq!((more.range, own.rounds(), more.verdict(0.0)), ([1.0, 8.0], 24, ""));
        assert!((4.0..=5.0).contains(&more.median));
        own.push(3, -1e3);
        other.push(3, 1e3);
        own.push(3, -1e3);
        other.push(3, 1e3);
        own.push(3, -1e3);
        other.push(3, 1e3);
        own.push(3, -1e3);
        other.push(3, 1e3);
        assert_eq!(own.minus(&other).verdict(0.0), "no difference measured");
        // One round of one placement is a figure; none is none.
        let none = Placed::default();
        assert!(none.spread().median.is_nan() && none.minus(&own).median.is_nan());
        assert_eq!(none.spread().verdict(1.0), "");
    }

    #[test]
    fn verdicts() {
        let judged = |range: [f64; 2], limit| {
            let (cells, json) = Spread { median: range[1], range }.judged(limit, 1.0);
            (cells[4].clone(), json["ok"] == true)
        };
        assert_eq!(judged([0.99, 1.01], 1.0), ("ok; no difference measured".into(), true));
        assert_eq!(judged([0.99, 1.01], 0.9), ("MISSED; no difference measured".into(), false));
        assert_eq!(judged([1.01, 1.02], 1.0), ("MISSED".into(), false));
        assert_eq!(judged([0.90, 0.95], 1.0), ("ok".into(), true));
    }

    /// Each variant once in each round, in all placements, however short the time is; and an error ends it.
    #[test]
    fn all_take_turns() {
        let mut seen = [[0; 3]; PLACEMENTS];
        let done = rounds(Duration::ZERO, 3, |placement, at| {
            seen[placement][at] += 1;
            Ok(())
        });
        assert!(done.is_ok() && seen == [[1; 3]; PLACEMENTS]);
        let mut calls = 0;
        let failed = rounds(Duration::MAX, 3, |placement, _| {
            calls += 1;
            if placement == 1 { Err("no more".into()) } else { Ok(()) }
        });
        assert!(failed.is_err() && calls == 4);
    }

    #[test]
    fn runs_each() {
        fn number<const P: usize>(turns: u64) -> u64 {
            turns + P as u64
        }
        let loops: Loops = placements!(number);
        (0..PLACEMENTS).for_each(|at| assert_eq!(run(&loops, at, 5), 5 + at as u64));
    }
}
