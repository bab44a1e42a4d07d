//! The rows that need counters: of the processor's own where the machine has them, else simulated by callgrind.

use std::hint::black_box;

use perf_event::events::Hardware;

use super::execution::{Each, execute};
use super::simulated;
use crate::Result;
use crate::callgrind::Events;
use crate::counters::Counters;

/// Who counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Counter {
    Processor,
    Callgrind,
}

impl Counter {
    /// What stands behind the name of a row.
    pub fn label(self) -> &'static str {
        ["", ", simulated"][self as usize]
    }
}

/// An error where neither counts.
pub fn count() -> Result<(Counter, Each)> {
    match by_processor() {
        Ok(each) => Ok((Counter::Processor, each)),
        Err(_) => Ok((Counter::Callgrind, simulated::simulate()?)),
    }
}

/// One event after the other: a processor counts few at once.
fn by_processor() -> Result<Each> {
    let mut counters = Vec::new();
    for event in [
        Hardware::INSTRUCTIONS,
        Hardware::CACHE_REFERENCES,
        Hardware::CACHE_MISSES,
        Hardware::BRANCH_INSTRUCTIONS,
        Hardware::BRANCH_MISSES,
    ] {
        counters.push(Counters::open([event])?);
    }
    let mut all = Vec::new();
    execute(|(column, load), run, turns| {
        let mut counts = [0.0; 5];
        for (count, counter) in counts.iter_mut().zip(&mut counters) {
            let [of_all] = counter.count(|| _ = black_box(black_box(run)(black_box(turns))))?;
            *count = of_all / turns as f64;
        }
        let [instructions, references, misses, branches, mispredicted] = counts;
        all.push((column, load, Events { instructions, references, misses, branches, mispredicted }));
        Ok(())
    })?;
    Ok(all)
}
