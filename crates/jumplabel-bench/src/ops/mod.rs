//! `ops`: the cost of a table of operations, in several ways to do them. It has the rows of the 2009 commit that made Linux's lock operations an
//! option.
//!
//! ```text
//!   first         patch the call sites; step through each loop: counts the instructions of a turn
//!   each round    set each backend, in random order; with it run each of its columns in each load and link layout, in random order
//!   after all     for each layout the median of the ratios within a round; of these medians, the median, the least and the greatest
//!   then          count with the processor's counters, or else with callgrind; time a switch of a lock's sites
//! ```

mod columns;
mod events;
mod execution;
mod load;
mod prefixes;
mod simulated;
mod sites;
mod switching;
mod tables;
mod ways;

use std::arch::x86_64::_rdtsc;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Result;
use crate::callgrind::Events;
use crate::report::Report;
use crate::samples::Samples;
use crate::site::decode::Path;
use crate::step;
use columns::{BACKENDS, COLUMNS, IN_PLACE, LOADS, LOCKED, Load, UP};
use events::Counter;
use load::LAYOUTS;
use prefixes::Prefixes;
pub use simulated::simulated;

/// The measurements of a column under a load.
struct Cell {
    column: usize,
    load: Load,
    /// The ticks of the time stamp counter for each turn, in each layout.
    ticks: Vec<Samples>,
    /// Instructions of a turn, counted by stepping. NaN if tracing is not allowed, or if it takes too long.
    instructions: f64,
    events: Option<Events>,
    /// The bytes of the loop, and the bytes between it and the next function.
    text: [usize; 2],
}

pub fn run(quick: bool) -> Result<Report> {
    sites::point(true);
    let listing = sites::patch()?;
    let mut cells = cells()?;
    assert_code(&cells)?;
    let seconds_a_tick = seconds_a_tick();
    let prefixes = Prefixes::find()?;
    let rounds = measure(&mut cells, &prefixes, quick)?;
    let counted = events::count();
    if let Ok((_, each)) = &counted {
        for &(column, load, events) in each {
            if let Some(cell) = cells.iter_mut().find(|cell| cell.column == column && cell.load == LOADS[load]) {
                cell.events = Some(events);
            }
        }
    }
    let mut report = Report::new("ops", quick);
    let counter = counted.as_ref().ok().map(|(counter, _)| *counter);
    tables::all(&mut report, &cells, &listing, seconds_a_tick, counter);
    tables::targets(&mut report, &cells, switching::measure(quick)?);
    report.note("cycles: ticks of the time stamp counter; 100 is no table, in the same round and layout");
    match counted {
        Ok((Counter::Processor, _)) => report.note("instructions, caches, branches: the processor's own counters, in user mode"),
        Ok((Counter::Callgrind, _)) => report.note(
            "simulated: by callgrind, for want of counters: to it, a locked instruction is a branch more, a direct call none",
        ),
        Err(error) => report.note(format!("n/a: no counters here, and no callgrind ({error})")),
    }
    report.note("a row with less than 0.05 a turn counts where a sample begins and ends: its per cent say nothing");
    report.note(
        "UP mode: no table; the lock prefix of the same instruction is a site, and is out. UP mode left: it is in",
    );
    report.fact("counter", json!(counter.map(|counter| format!("{counter:?}"))));
    report.fact("layouts", json!(LAYOUTS));
    report.fact("prefixes", prefixes.facts()?);
    report.fact("rounds", json!(rounds));
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

/// Cells for all columns, with all loads that a column has.
fn cells() -> Result<Vec<Cell>> {
    let symbols = tables::symbols()?;
    let mut cells = Vec::new();
    for (column, of) in COLUMNS.iter().enumerate() {
        of.backend.set()?;
        for load in LOADS {
            let Some([run, ..]) = of.loops(load) else { continue };
            of.verify(load)?;
            let is_long = load == Load::Sparse || cfg!(debug_assertions);
            let steps = if is_long { None } else { step::instructions_of_turn(run) };
            cells.push(Cell {
                column,
                load,
                ticks: vec![Samples::default(); LAYOUTS],
                instructions: steps.unwrap_or(f64::NAN),
                events: None,
                text: tables::bytes(&symbols, run as usize),
            });
        }
    }
    Ok(cells)
}

fn find(cells: &[Cell], column: usize, load: Load) -> Option<&Cell> {
    cells.iter().find(|cell| cell.column == column && cell.load == load)
}

/// Returns an error if the compiler made other loops than expected. The decoded instructions of the plain loop must be the executed ones. The loop in
/// place must have as many instructions as the plain loop. UP mode must remove the only `lock`.
fn assert_code(cells: &[Cell]) -> Result<()> {
    if cfg!(debug_assertions) {
        return Ok(());
    }
    let path = |column: usize| -> Result<[usize; 3]> {
        COLUMNS[column].backend.set()?;
        let [run, ..] = COLUMNS[column].loops(Load::Inlined).ok_or("no loop")?;
        let path = Path::of_loop(run as usize)?;
        Ok([path.len(), path.loads(), path.locked()])
    };
    let (plain, in_place, locked) = (path(0)?, path(IN_PLACE)?, path(LOCKED)?);
    let up = path(UP)?;
    if [plain[2], locked[2], up[2]] != [1, 1, 0] || locked[..2] != up[..2] {
        return Err(format!("without a table {plain:?}, UP mode {up:?}, left {locked:?}").into());
    }
    let stepped = find(cells, 0, Load::Inlined).map_or(f64::NAN, |cell| cell.instructions);
    if plain != in_place || !stepped.is_nan() && stepped != plain[0] as f64 {
        return Err(format!(
            "{plain:?} instructions and loads without a table, {stepped} executed, {in_place:?} in place"
        )
        .into());
    }
    Ok(())
}

/// Measures the seconds of a tick, by the clock.
fn seconds_a_tick() -> f64 {
    // SAFETY: every x86-64 has the instruction.
    let ticks = || unsafe { _rdtsc() };
    let (start, first) = (Instant::now(), ticks());
    while start.elapsed() < Duration::from_millis(50) {
        std::hint::spin_loop();
    }
    start.elapsed().as_secs_f64() / (ticks() - first) as f64
}

fn measure(cells: &mut [Cell], prefixes: &Prefixes, quick: bool) -> Result<usize> {
    let mut turns: Vec<(usize, usize)> =
        (0..cells.len()).flat_map(|cell| (0..LAYOUTS).map(move |layout| (cell, layout))).collect();
    let mut backends = BACKENDS;
    let (start, budget) = (Instant::now(), crate::samples::budget(if quick { 3 } else { 40 }));
    let mut rounds = 0;
    while start.elapsed() < budget || rounds == 0 {
        fastrand::shuffle(&mut turns);
        fastrand::shuffle(&mut backends);
        for backend in backends {
            backend.set()?;
            prefixes.check(backend)?;
            for &(at, layout) in &turns {
                if COLUMNS[cells[at].column].backend == backend {
                    cells[at].sample(layout);
                }
            }
        }
        rounds += 1;
    }
    columns::Backend::Native.set()?;
    Ok(rounds)
}

impl Cell {
    fn sample(&mut self, layout: usize) {
        let Some(loops) = COLUMNS[self.column].loops(self.load) else { return };
        let (run, turns) = (loops[layout], self.load.turns());
        black_box(run(black_box(turns / 4))); // warms up the code and the branch predictors
        // SAFETY: every x86-64 has the instruction.
        let ticks = || unsafe { _rdtsc() };
        let first = ticks();
        black_box(run(black_box(turns)));
        self.ticks[layout].push((ticks() - first) as f64 / turns as f64);
    }

    /// The ratios of the times to the times of `other`: for each layout, the median of the rounds.
    fn by_layout(&self, other: &Cell) -> impl Iterator<Item = f64> {
        self.ticks.iter().zip(&other.ticks).map(|(mine, others)| mine.over(others).median())
    }

    /// The median, least and greatest of the layouts' ratios.
    fn over(&self, other: &Cell) -> [f64; 3] {
        let mut medians = Samples::default();
        self.by_layout(other).for_each(|ratio| medians.push(ratio));
        [medians.median(), medians.quantile(0.0), medians.quantile(1.0)]
    }

    /// The ticks of a turn: the median of the layouts.
    fn median(&self) -> f64 {
        let mut medians = Samples::default();
        self.ticks.iter().for_each(|layout| medians.push(layout.median()));
        medians.median()
    }
}
