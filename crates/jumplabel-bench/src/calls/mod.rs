//! `calls`: what a call costs whose target is a choice at run time, as a static call and as what stands in its place; and what
//! one update costs.
//!
//! ```text
//!   first         step through each loop: the instructions of a call
//!   each round    every way in each loop once, in random order
//!   after all     medians of the times, and of the ratios of a round
//!   then          updates, beside the floor and a core sync
//! ```

mod update;
mod ways;

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Result;
use crate::report::{Chart, Report, Table, Target, figure};
use crate::samples::{Samples, time};
use crate::step;
use ways::{CALLS_A_TURN, WAYS, Way};

/// Turns of a loop in one sample: some 50 us.
const TURNS: u64 = 5_000;
const SHAPES: [&str; 3] = ["latency-bound", "throughput-bound", "beside a hash"];
/// In this loop all ways take the same time, and are compared with direct calls alone.
const BESIDE_A_HASH: usize = 2;

/// One way in one loop.
struct Row {
    way: Way,
    shape: usize,
    samples: Samples,
    /// Of a call, and a part of its turn; `None` where tracing is not allowed.
    instructions: Option<f64>,
}

/// What a way must not exceed, as a multiple of another.
const TARGETS: [(Way, Way, f64); 11] = [
    (Way::Listed, Way::Direct, 1.01),
    (Way::Static, Way::Direct, 1.03),
    (Way::StaticElsewhere, Way::DirectElsewhere, 1.03),
    (Way::Static, Way::Table, 1.0),
    (Way::Static, Way::Ifunc, 1.0),
    (Way::Static, Way::Pointer, 1.0),
    (Way::Static, Way::ArcSwap, 1.0),
    (Way::Listed, Way::Table, 1.0),
    (Way::Listed, Way::Ifunc, 1.0),
    (Way::Listed, Way::Pointer, 1.0),
    (Way::Listed, Way::ArcSwap, 1.0),
];

pub fn run(quick: bool) -> Result<Report> {
    let listed = ways::prepare()?;
    let counted = update::counted();
    let mut rows: Vec<Row> =
        (0..SHAPES.len()).flat_map(|shape| WAYS.iter().map(move |&way| Row::new(way, shape))).collect();
    let mut turns: Vec<usize> = (0..rows.len()).collect();
    let (start, budget) = (Instant::now(), Duration::from_secs(if quick { 4 } else { 30 }));
    while start.elapsed() < budget {
        fastrand::shuffle(&mut turns);
        turns.iter().for_each(|&at| rows[at].sample());
    }
    let mut report = Report::new("calls", quick);
    for shape in 0..SHAPES.len() {
        report_shape(&mut report, &rows, shape);
    }
    report_targets(&mut report, &rows);
    update::run(&mut report, counted, quick)?;
    let ways::Listed { calls, straight } = listed;
    report.note(format!(
        "at its site: {straight} of {calls} calls lead straight to the function, the others to the trampoline"
    ));
    report.fact("listed", json!({ "calls": calls, "straight": straight }));
    report.note("ns, instructions: of a call with what it calls, and its eighth of the loop");
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

impl Row {
    fn new(way: Way, shape: usize) -> Row {
        let run = way.loops()[shape];
        let instructions = step::instructions_of_turn(run).map(|count| count / CALLS_A_TURN as f64);
        Row { way, shape, samples: Samples::default(), instructions }
    }

    fn sample(&mut self) {
        let run = self.way.loops()[self.shape];
        black_box(run(black_box(TURNS / 50))); // what predicts branches, and the code, are warm
        self.samples.push(time(|| _ = black_box(run(black_box(TURNS)))) / (TURNS as usize * CALLS_A_TURN) as f64);
    }
}

fn find(rows: &[Row], shape: usize, way: Way) -> &Row {
    rows.iter().find(|row| row.shape == shape && row.way == way).expect("all ways are in the list")
}

fn report_shape(report: &mut Report, rows: &[Row], shape: usize) {
    let direct = &find(rows, shape, Way::Direct).samples;
    let title = format!("{}: a call, {} rounds", SHAPES[shape], direct.len());
    let mut chart = Chart::new(format!("a call, {}", SHAPES[shape]), "ns");
    let mut table = Table::new(title, &["", "ns", "from", "to", "x direct call", "instructions"]);
    let mut facts = Vec::new();
    for row in rows.iter().filter(|row| row.shape == shape) {
        let (ns, [from, to], ratio) = (row.samples.median(), row.samples.interval(), row.samples.over(direct).median());
        chart.bar(row.way.name(), ns, [from, to]);
        // What the third loop comes to says where its code happens to lie.
        if !cfg!(debug_assertions) && shape != BESIDE_A_HASH {
            let count = row.instructions.unwrap_or(f64::NAN);
            report.count(format!("instructions of a call, {}: {}", SHAPES[shape], row.way.name()), count);
        }
        let instructions = row.instructions.map_or("n/a".to_owned(), |count| figure(count, 2));
        let cells = [figure(ns, 3), figure(from, 3), figure(to, 3), figure(ratio, 3), instructions];
        table.row([row.way.name().to_owned()].into_iter().chain(cells));
        facts.push(json!({
            "call": row.way.name(),
            "ns": ns,
            "ns_interval": [from, to],
            "times_direct": ratio,
            "instructions": row.instructions,
        }));
    }
    report.table(table);
    report.chart(chart);
    report.fact(
        ["latency_bound", "throughput_bound", "beside_a_hash"][shape],
        json!({ "rounds": direct.len(), "calls": facts }),
    );
}

fn report_targets(report: &mut Report, rows: &[Row]) {
    let mut table = Table::new("targets: median of the ratios of a round", &["", "ratio", "target", ""]);
    let mut facts = Vec::new();
    for (way, other, limit) in TARGETS {
        for (shape, name) in SHAPES.iter().enumerate() {
            if shape == BESIDE_A_HASH && limit <= 1.0 {
                continue;
            }
            let [ours, theirs] = [way, other].map(|way| &find(rows, shape, way).samples);
            let target = Target { figure: ours.over(theirs).median(), limit };
            let what = format!("{} / {}, {name}", way.name(), other.name());
            facts.push(json!({ "ratio": what, "target": target.json() }));
            table.row([what].into_iter().chain(target.cells()));
        }
    }
    report.table(table);
    report.fact("targets", json!(facts));
}
