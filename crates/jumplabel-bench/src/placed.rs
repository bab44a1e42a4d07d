//! Placements. Each loop is compiled [`PLACEMENTS`] times. Each copy begins 16 bytes further from a multiple of two cache lines than the previous
//! copy, has its own flags, and runs at another depth of the stack. The address alone can make a check some per cent slower or faster than no check
//! at all. (Compilers align a loop to 16 bytes, so fewer bytes would not move it.)
//!
//! ```text
//!   a round      all variants, in random order, in one placement; differences and ratios are within one round
//!   the figure   for each placement the median of its rounds; of these medians, the median, the least and the greatest
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::report::{Target, figure};
use crate::samples::{Samples, time};

/// The number of placements.
pub const PLACEMENTS: usize = 8;

/// A loop. Its argument is the number of turns.
pub type Loop = fn(u64) -> u64;

/// The copies of one loop, one for each placement.
pub type Loops = [Loop; PLACEMENTS];

/// Lists the copies of a function whose constant parameter is the placement.
macro_rules! placements {
    ($name:ident) => {
        [$name::<0>, $name::<1>, $name::<2>, $name::<3>, $name::<4>, $name::<5>, $name::<6>, $name::<7>]
    };
}

/// Moves the beginning of the next loop by an offset for its placement `$at`. So the copies differ, and the compiler cannot merge them.
macro_rules! begin_at {
    ($at:expr) => {
        // SAFETY: the code jumps over the bytes that move the loop.
        unsafe {
            ::std::arch::asm!(
                $crate::isa::next_line!("128", "16 * {at}"),
                at = const $at, options(nomem, nostack, preserves_flags)
            )
        }
    };
}
pub(crate) use {begin_at, placements};

/// Runs a loop in one placement. The stack also moves, by as many frames as the number of the placement.
pub fn run(loops: &Loops, placement: usize, turns: u64) -> u64 {
    #[inline(never)]
    fn below(frames: usize, run: Loop, turns: u64) -> u64 {
        let room = black_box([0_u8; 40]);
        let result = if frames == 0 { run(turns) } else { below(frames - 1, run, turns) };
        result ^ u64::from(black_box(room[0]))
    }
    below(placement, loops[placement], black_box(turns))
}

/// The nanoseconds of `turns` turns in one placement, after a short run that warms the code and the branch predictors.
pub fn nanoseconds(loops: &Loops, placement: usize, turns: u64) -> f64 {
    black_box(run(loops, placement, turns / 50));
    time(|| _ = black_box(run(loops, placement, turns)))
}

/// Runs rounds until the time is over. In a round, `sample` is called for each variant in random order, with the numbers of the placement and of the
/// variant. All placements get the same number of rounds, at least one.
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

/// The samples of one variant, in each placement.
#[derive(Clone, Default)]
pub struct Placed([Samples; PLACEMENTS]);

/// The median of the placements, and the least and the greatest of them.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub range: [f64; 2],
}

impl Placed {
    pub fn push(&mut self, placement: usize, sample: f64) {
        self.0[placement].push(sample);
    }

    /// The number of rounds in all placements together.
    pub fn rounds(&self) -> usize {
        self.0.iter().map(Samples::len).sum()
    }

    pub fn spread(&self) -> Spread {
        Spread::of(self.0.iter().map(Samples::median))
    }

    /// The differences to another variant.
    pub fn minus(&self, other: &Placed) -> Spread {
        Spread::of(self.0.iter().zip(&other.0).map(|(own, other)| own.minus(other).median()))
    }

    /// The ratios to another variant.
    pub fn over(&self, other: &Placed) -> Spread {
        Spread::of(self.0.iter().zip(&other.0).map(|(own, other)| own.over(other).median()))
    }

    /// All samples of all placements together.
    pub fn all(&self) -> Samples {
        let mut all = Samples::default();
        self.0.iter().flat_map(Samples::iter).for_each(|sample| all.push(sample));
        all
    }
}

impl Spread {
    /// Computes the spread of medians. A placement without samples is left out.
    fn of(medians: impl Iterator<Item = f64>) -> Spread {
        let mut all = Samples::default();
        medians.filter(|median| !median.is_nan()).for_each(|median| all.push(median));
        Spread { median: all.median(), range: [all.quantile(0.0), all.quantile(1.0)] }
    }

    pub fn times(self, factor: f64) -> Spread {
        Spread { median: self.median * factor, range: self.range.map(|end| end * factor) }
    }

    /// The cells figure, from, to, limit and verdict, and the target as JSON. If the figure does not differ measurably from `nothing`, it keeps the
    /// limit if `nothing` does.
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

    /// The text for a figure. `nothing` is the figure for no difference: 0 for nanoseconds, 1 for a ratio. A difference that is too small for any
    /// clock counts as none.
    pub fn verdict(self, nothing: f64) -> &'static str {
        const UNSEEN: f64 = 0.001;
        let [least, most] = self.range;
        if least <= nothing + UNSEEN && nothing - UNSEEN <= most { "no difference measured" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Placements may differ by more than the variants do. This does not matter, because variants are compared only within a placement.
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
        // One round in one placement is enough for a figure. Without any round there is no figure.
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

    /// Each variant runs once in each round, in all placements, even if the time is short. An error ends the rounds.
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
