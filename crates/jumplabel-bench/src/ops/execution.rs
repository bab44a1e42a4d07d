//! What is executed while something counts: each column's loop under each load, in the same order whoever counts.

use std::hint::black_box;

use super::columns::{BACKENDS, COLUMNS, LOADS};
use super::load::reset;
use crate::Result;
use crate::callgrind::Events;
use crate::placed::Loop;

/// The numbers of a column and of a load, and their events.
pub type Each = Vec<(usize, usize, Events)>;

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
