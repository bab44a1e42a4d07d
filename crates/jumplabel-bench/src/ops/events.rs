//! The rows that need counters: of the processor's own where the machine has them, else simulated by callgrind.

use std::hint::black_box;

use perf_event::events::Hardware;

use super::columns::{BACKENDS, COLUMNS, LOADS};
use super::load::reset;
use super::simulated;
use crate::Result;
use crate::callgrind::Events;
use crate::counters::Counters;
use crate::placed::Loop;

/// The numbers of a column and of a load, and their events.
pub type Each = Vec<(usize, usize, Events)>;

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

/// What is counted, in the order in which it is: column and load.
pub fn each() -> impl Iterator<Item = (usize, usize)> {
    let of = move |backend| (0..COLUMNS.len()).filter(move |&column| COLUMNS[column].backend == backend);
    BACKENDS
        .into_iter()
        .flat_map(of)
        .flat_map(|column| (0..LOADS.len()).map(move |load| (column, load)))
        .filter(|&(column, load)| COLUMNS[column].loops(LOADS[load]).is_some())
}

/// Hands out each of them, warm, with its turns.
pub fn execute(mut counted: impl FnMut((usize, usize), Loop, u64) -> Result<()>) -> Result<()> {
    let mut backend = None;
    for (column, load) in each() {
        let of = COLUMNS[column].backend;
        if backend.replace(of) != Some(of) {
            of.set()?;
        }
        reset();
        let Some([run, ..]) = COLUMNS[column].loops(LOADS[load]) else { continue };
        let turns = LOADS[load].turns();
        black_box(run(turns.max(16))); // All of the memory.
        counted((column, load), run, turns)?;
    }
    Ok(())
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
