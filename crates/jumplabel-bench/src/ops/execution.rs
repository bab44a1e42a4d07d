//! Executes the loops while a counter runs: each column's loop under each load. The order is the same for every counter.

use std::hint::black_box;

use super::columns::{BACKENDS, COLUMNS, LOADS};
use super::load::reset;
use crate::Result;
use crate::callgrind::Events;
use crate::placed::Loop;

/// For each loop, the number of the column, the number of the load, and the events.
pub type Each = Vec<(usize, usize, Events)>;

/// The indices of column and load of each loop, in the order of execution.
pub fn each() -> impl Iterator<Item = (usize, usize)> {
    let of = move |backend| (0..COLUMNS.len()).filter(move |&column| COLUMNS[column].backend == backend);
    BACKENDS
        .into_iter()
        .flat_map(of)
        .flat_map(|column| (0..LOADS.len()).map(move |load| (column, load)))
        .filter(|&(column, load)| COLUMNS[column].loops(LOADS[load]).is_some())
}

/// Passes each loop to `counted`, with its number of turns. The loop is warm.
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
        black_box(run(turns.max(16))); // So many turns touch the whole memory.
        counted((column, load), run, turns)?;
    }
    Ok(())
}
