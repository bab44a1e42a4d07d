//! A measurement, and the quantiles of many.

use std::time::Instant;

/// Nanoseconds that `work` takes.
pub fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Measurements of one thing.
#[derive(Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The quantile at `part` (0.5 is the median); not a number where there is no sample.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((part * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The interval that holds the true median at 95 %, by the ranks of the samples.
    pub fn interval(&self) -> [f64; 2] {
        let half = 0.98 / (self.len().max(1) as f64).sqrt();
        [self.quantile((0.5 - half).max(0.0)), self.quantile((0.5 + half).min(1.0))]
    }

    /// Differences to `other`, sample by sample: what is common to a round goes.
    pub fn minus(&self, other: &Samples) -> Samples {
        Samples(self.0.iter().zip(&other.0).map(|(a, b)| a - b).collect())
    }

    /// Ratios to `other`, sample by sample.
    pub fn over(&self, other: &Samples) -> Samples {
        Samples(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }
}
