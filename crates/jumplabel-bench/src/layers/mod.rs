//! `layers`: the cost of diagnostics that are switched off, for each kind of guard that programs use.
//!
//! ```text
//!   first         step through each loop: counts the instructions of a guard; a site must have one, any other guard two or more
//!   each round    run every guard in both loops once, in random order; the time without a guard in that round is subtracted
//!   after all     median of the differences over all placements, with the least and the greatest
//! ```

mod ways;

use serde_json::json;

use crate::Result;
use crate::placed::{self, PLACEMENTS, Placed};
use crate::report::{Chart, Report, Table, figure};
use crate::site::loops::{CHECKS_A_TURN, LOOPS};
use crate::step;
use ways::{WAYS, Way};

/// The turns of a loop in one sample, which takes about 100 us.
const TURNS: u64 = 5_000;

/// The samples of one guard in one loop.
struct Row {
    shape: usize,
    way: &'static Way,
    samples: Placed,
    /// The instructions of one guard and of the work around it. NaN if tracing is not allowed.
    instructions: f64,
}

pub fn run(quick: bool) -> Result<Report> {
    ways::begin()?;
    let mut rows = Vec::new();
    for shape in 0..LOOPS.len() {
        for way in WAYS {
            rows.push(Row::new(shape, way)?);
        }
    }
    rows.iter().try_for_each(|row| row.assert_code(&rows))?;
    let budget = crate::samples::budget(if quick { 3 } else { 30 });
    placed::rounds(budget, rows.len(), |placement, at| rows[at].sample(placement))?;
    let mut report = Report::new("layers", quick);
    (0..LOOPS.len()).for_each(|shape| report_shape(&mut report, &rows, shape));
    report.note(format!(
        "ns: of one diagnostic, more than none in the same round: the median of {PLACEMENTS} placements, from the least to the most"
    ));
    report.note("log: env_logger; tracing: a registry with an EnvFilter; fail: with its fail points compiled in; a fail point that is configured: 0%return");
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

impl Row {
    fn new(shape: usize, way: &'static Way) -> Result<Row> {
        (way.prepare)()?;
        let instructions = step::instructions_of_turn(way.loops[shape][0]).unwrap_or(f64::NAN) / CHECKS_A_TURN as f64;
        Ok(Row { shape, way, samples: Placed::default(), instructions })
    }

    fn is_baseline(&self) -> bool {
        std::ptr::eq(self.way, &raw const WAYS[0])
    }

    /// Returns an error if the compiler made code that does not fit the guard's name.
    fn assert_code(&self, rows: &[Row]) -> Result<()> {
        let own = self.of_guard(rows);
        let right = cfg!(debug_assertions)
            || own.is_nan()
            || match self.way.is_site {
                true => own == 1.0,
                false => own >= 2.0 || self.is_baseline(),
            };
        if right { Ok(()) } else { Err(format!("{} is {own} instructions: not measured", self.way.name).into()) }
    }

    /// The instructions of one guard.
    fn of_guard(&self, rows: &[Row]) -> f64 {
        self.instructions - baseline(rows, self.shape).instructions
    }

    fn sample(&mut self, placement: usize) -> Result<()> {
        (self.way.prepare)()?;
        let nanoseconds = placed::nanoseconds(&self.way.loops[self.shape], placement, TURNS);
        self.samples.push(placement, nanoseconds / (TURNS as usize * CHECKS_A_TURN) as f64);
        Ok(())
    }
}

fn baseline(rows: &[Row], shape: usize) -> &Row {
    &rows[shape * WAYS.len()]
}

fn report_shape(report: &mut Report, rows: &[Row], shape: usize) {
    let none = &baseline(rows, shape).samples;
    let (rounds, baseline_ns) = (none.rounds(), none.spread().median);
    let title = format!("{}: {baseline_ns:.2} ns without, {rounds} rounds", LOOPS[shape].0);
    let mut chart = Chart::new(
        format!("a diagnostic that is off, {}", LOOPS[shape].0),
        "ns more than none: median of the placements, least and most",
    );
    let mut table = Table::new(title, &["guarded by", "ns", "from", "to", "", "instructions"]);
    let mut facts = Vec::new();
    for row in rows.iter().filter(|row| row.shape == shape && !row.is_baseline()) {
        let more = row.samples.minus(none);
        let (ns, [from, to], instructions) = (more.median, more.range, row.of_guard(rows));
        let figures = [ns, from, to].map(|value| figure(value, 2));
        let behind = [more.verdict(0.0).to_owned(), figure(instructions, 1)];
        table.row([row.way.name.to_owned()].into_iter().chain(figures).chain(behind));
        chart.bar(row.way.name, ns, [from, to]);
        facts.push(json!({ "guard": row.way.name, "ns": ns, "ns_interval": [from, to], "instructions": instructions }));
    }
    report.table(table);
    report.chart(chart);
    let fact = ["latency_bound", "alu_saturated"][shape];
    report.fact(fact, json!({ "rounds": rounds, "baseline_ns": baseline_ns, "guards": facts }));
}
