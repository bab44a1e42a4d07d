//! `micro`: twelve small cases that people use in arguments about static keys. They are a nop, a jump, branches, a load, a load that misses, a branch
//! that cannot be predicted, and for comparison sites, static calls and switches.
//!
//! ```text
//!   all of them   8 x { next random number; the case }      the baseline has only the random number
//!   first         decode each loop: the instructions and loads of the case; stop if they are not as expected
//!   each round    run every case once, in random order, in one placement; the baseline's time of that round is subtracted
//! ```

mod cases;

use serde_json::json;

use crate::Result;
use crate::placed::{self, PLACEMENTS, Placed};
use crate::report::{Chart, Report, Table, figure};
use crate::site::decode::Path;
use cases::{CASES, CASES_A_TURN, Case};

/// The turns of a loop in one sample, which takes about 100 us, or milliseconds if caches are missed.
const TURNS: u64 = 2_000;

/// A case, its code, and its samples.
struct Row {
    case: &'static Case,
    samples: Placed,
    /// The numbers of instructions and loads of the case.
    path: [f64; 2],
}

pub fn run(quick: bool) -> Result<Report> {
    cases::begin();
    let mut rows = rows()?;
    placed::rounds(crate::samples::budget(if quick { 3 } else { 30 }), rows.len(), |placement, at| {
        let Row { case, samples, .. } = &mut rows[at];
        (case.prepare)()?;
        let nanoseconds = placed::nanoseconds(&case.loops, placement, TURNS);
        samples.push(placement, nanoseconds / (TURNS as usize * CASES_A_TURN) as f64);
        Ok(())
    })?;
    let mut report = Report::new("micro", quick);
    table(&mut report, &rows);
    report.note(format!("ns: more than the baseline of the same round; the median of {PLACEMENTS} placements, from the least to the most"));
    report.note("misses overlap: nothing waits for what is loaded, but a branch that was foreseen wrongly");
    report.note("a branch miss: a random bit, so that half of the branches are foreseen wrongly");
    report.note("a static call is with the two instructions that it calls, an N-way switch with its arm, which is one");
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

/// All cases, decoded. Returns an error if the compiler made code that does not fit the case's name.
fn rows() -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut baseline = [0.0; 2];
    for case in &CASES {
        (case.prepare)()?;
        let paths = case.loops.map(|run| Path::of_loop(run as usize).map(|path| [path.len(), path.loads()]));
        let paths = paths.into_iter().collect::<Result<Vec<_>>>()?;
        let of_case = |[instructions, loads]: [usize; 2], from: [f64; 2]| {
            [(instructions as f64 - from[0]) / CASES_A_TURN as f64, (loads as f64 - from[1]) / CASES_A_TURN as f64]
        };
        if rows.is_empty() {
            baseline = paths[0].map(|count| count as f64);
        }
        for path in &paths {
            let [instructions, loads] = of_case(*path, baseline);
            let is_right = case.instructions.contains(&instructions) && loads == case.loads;
            if !is_right && !cfg!(debug_assertions) {
                let name = case.name;
                return Err(format!("{name} is {instructions} instructions and {loads} loads: not measured").into());
            }
        }
        rows.push(Row { case, samples: Placed::default(), path: of_case(paths[0], baseline) });
    }
    Ok(rows)
}

fn table(report: &mut Report, rows: &[Row]) {
    let [baseline, cases @ ..] = rows else { return };
    let (rounds, baseline_ns) = (baseline.samples.rounds(), baseline.samples.spread().median);
    let title = format!("twelve cases; {baseline_ns:.2} ns without, {rounds} rounds");
    let mut table = Table::new(title, &["", "ns", "from", "to", "", "instructions", "loads"]);
    let mut chart = Chart::new("twelve small cases", "ns more than none: median of the placements, least and most");
    let mut facts = Vec::new();
    for Row { case, samples, path: [instructions, loads] } in cases {
        let more = samples.minus(&baseline.samples);
        let figures = [more.median, more.range[0], more.range[1]].map(|ns| figure(ns, 3));
        let behind = [more.verdict(0.0).to_owned(), figure(*instructions, 2), figure(*loads, 0)];
        table.row([case.name.to_owned()].into_iter().chain(figures).chain(behind));
        chart.bar(case.name, more.median, more.range);
        if !cfg!(debug_assertions) {
            report.count(format!("instructions of a small case: {}", case.name), *instructions);
        }
        facts.push(json!({ "case": case.name, "ns": more.median, "ns_interval": more.range,
            "instructions": instructions, "loads": loads }));
    }
    report.table(table);
    report.chart(chart);
    report.fact("cases", json!(facts));
    report.fact("rounds", json!(rounds));
}
