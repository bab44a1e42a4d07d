//! Times a piece of work, and computes quantiles of its samples.

use std::time::{Duration, Instant};

/// The time for rounds: `seconds`, or a tenth of that in a build without optimisation. Only tests run such a build, and its times are not used. At
/// least one round always runs.
pub fn budget(seconds: u64) -> Duration {
    Duration::from_secs(seconds) / if cfg!(debug_assertions) { 10 } else { 1 }
}

/// The nanoseconds that `work` takes.
pub fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// The samples of one figure.
#[derive(Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub const fn new() -> Samples {
        Samples(Vec::new())
    }

    pub fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    pub fn iter(&self) -> impl Iterator<Item = f64> {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The quantile at `part` (0.5 is the median). NaN if there are no samples.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((part * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The interval that contains the true median with a probability of 95 %, found by the ranks of the samples.
    pub fn interval(&self) -> [f64; 2] {
        let half = 0.98 / (self.len().max(1) as f64).sqrt();
        [self.quantile((0.5 - half).max(0.0)), self.quantile((0.5 + half).min(1.0))]
    }

    /// Draws samples at random from these, with repetition, as many as there are.
    pub fn drawn(&self) -> Samples {
        Samples((0..self.len()).map(|_| self.0[fastrand::usize(..self.len())]).collect())
    }

    /// The mean of several lists, sample by sample. The result is as long as the shortest list.
    pub fn mean<'a>(several: impl Iterator<Item = &'a Samples> + Clone) -> Samples {
        let count = several.clone().count().max(1) as f64;
        let length = several.clone().map(Samples::len).min().unwrap_or(0);
        Samples((0..length).map(|at| several.clone().map(|samples| samples.0[at]).sum::<f64>() / count).collect())
    }

    /// Each sample multiplied by `factor`.
    pub fn times(&self, factor: f64) -> Samples {
        Samples(self.0.iter().map(|sample| sample * factor).collect())
    }

    /// The differences to `other`, sample by sample. A disturbance that affects both samples of a round cancels out.
    pub fn minus(&self, other: &Samples) -> Samples {
        Samples(self.0.iter().zip(&other.0).map(|(a, b)| a - b).collect())
    }

    /// The ratios to `other`, sample by sample.
    pub fn over(&self, other: &Samples) -> Samples {
        Samples(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }
}
