//! Placements: each loop is compiled so often, each time eight bytes further into a line of the cache, with flags of its own, and is run
//! with the stack somewhere else. One build of the same check can be some per cent slower or faster than none by its place alone.
//!
//! ```text
//!   a round      all variants, in random order, in one placement: differences and ratios are of one round
//!   the figure   of each placement the median of its rounds; of these the median, the least and the most
//! ```

use std::hint::black_box;

use crate::samples::Samples;

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
                $crate::isa::next_line!("8 * {at}"),
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

/// Of one thing, in each placement.
#[derive(Default)]
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
    fn runs_each() {
        fn number<const P: usize>(turns: u64) -> u64 {
            turns + P as u64
        }
        let loops: Loops = placements!(number);
        (0..PLACEMENTS).for_each(|at| assert_eq!(run(&loops, at, 5), 5 + at as u64));
    }
}
