//! Counts the events of the rows that need counters. They come from the processor's own counters if the machine has them, otherwise from callgrind's
//! simulation.

use std::hint::black_box;

use perf_event::events::Hardware;

use super::execution::{Each, execute};
use super::simulated;
use crate::Result;
use crate::callgrind::Events;
use crate::counters::Counters;

/// The source of the counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Counter {
    Processor,
    Callgrind,
}

impl Counter {
    /// The text that follows the name of a row.
    pub fn label(self) -> &'static str {
        ["", ", simulated"][self as usize]
    }
}

/// Counts the events. Returns an error if neither source works.
pub fn count() -> Result<(Counter, Each)> {
    match by_processor() {
        Ok(each) => Ok((Counter::Processor, each)),
        Err(_) => Ok((Counter::Callgrind, simulated::simulate()?)),
    }
}

/// Counts one event at a time, because a processor can count only a few events at once.
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
