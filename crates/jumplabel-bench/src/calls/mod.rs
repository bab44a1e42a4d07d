//! `calls`: the cost of a call whose target is chosen at run time, for static calls and for other ways. Also the cost of an update.
//!
//! ```text
//!   first         step through each loop: counts the instructions of a call
//!   each round    run every way in each loop once, in random order
//!   after all     medians of the times, and of the ratios within a round: of all placements, with the least and the greatest
//!   then          time updates, and compare them with the floor and with a core sync
//! ```

mod prepare;
mod update;
mod ways;

use serde_json::json;

use crate::Result;
use crate::isa::IS_X86;
use crate::placed::{self, PLACEMENTS, Placed};
use crate::report::{Chart, Report, Table, figure};
use crate::step;
use ways::{CALLS_A_TURN, WAYS, Way};

/// The turns of a loop in one sample, which takes about 50 us.
const TURNS: u64 = 5_000;
const SHAPES: [&str; 3] = ["latency-bound", "throughput-bound", "beside a hash"];
/// The number of the loop in which all ways take about the same time. In this loop, ways are compared with direct calls only.
const BESIDE_A_HASH: usize = 2;

/// The samples of one way in one loop.
struct Row {
    way: Way,
    shape: usize,
    samples: Placed,
    /// The instructions of a call and of an eighth of the loop around the calls. `None` where tracing is not allowed.
    instructions: Option<f64>,
}

/// A target: a way, the way that it is compared with, and the greatest ratio of the two.
type Limit = (Way, Way, f64);

const TARGETS: [Limit; 4] = [
    (Way::Static, Way::Direct, 1.03),
    (Way::StaticElsewhere, Way::DirectElsewhere, 1.03),
    (Way::Static, Way::Table, 1.0),
    (Way::Static, Way::Pointer, 1.0),
];
#[cfg(target_arch = "x86_64")]
const MORE_TARGETS: [Limit; 7] = [
    (Way::Static, Way::Ifunc, 1.0),
    (Way::Static, Way::ArcSwap, 1.0),
    (Way::Listed, Way::Direct, 1.01),
    (Way::Listed, Way::Table, 1.0),
    (Way::Listed, Way::Ifunc, 1.0),
    (Way::Listed, Way::Pointer, 1.0),
    (Way::Listed, Way::ArcSwap, 1.0),
];
#[cfg(not(target_arch = "x86_64"))]
const MORE_TARGETS: [Limit; 1] = [(Way::Static, Way::ArcSwap, 1.0)];

pub fn run(quick: bool) -> Result<Report> {
    let listed = prepare::prepare()?;
    let counted = update::counted();
    let mut rows: Vec<Row> =
        (0..SHAPES.len()).flat_map(|shape| WAYS.iter().map(move |&way| Row::new(way, shape))).collect();
    placed::rounds(crate::samples::budget(if quick { 3 } else { 30 }), rows.len(), |placement, at| {
        rows[at].sample(placement);
        Ok(())
    })?;
    let mut report = Report::new("calls", quick);
    for shape in 0..SHAPES.len() {
        report_shape(&mut report, &rows, shape);
    }
    report_targets(&mut report, &rows);
    update::run(&mut report, counted, quick)?;
    let prepare::Listed { calls, straight } = listed;
    if IS_X86 {
        report.note(format!(
            "at its site: {straight} of {calls} calls lead straight to the function, the others to the trampoline"
        ));
    } else {
        report.note("calls at their sites, out of reach, and by ifunc: not on this machine, but on x86-64");
    }
    report.fact("listed", json!({ "calls": calls, "straight": straight }));
    report.note("ns, instructions: of a call with what it calls, and its eighth of the loop");
    report.note(format!("ns and ratios: the median of {PLACEMENTS} placements, from the least to the most of them"));
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

impl Row {
    fn new(way: Way, shape: usize) -> Row {
        let [run, ..] = way.loops()[shape];
        let instructions = step::instructions_of_turn(run).map(|count| count / CALLS_A_TURN as f64);
        Row { way, shape, samples: Placed::default(), instructions }
    }

    fn sample(&mut self, placement: usize) {
        let nanoseconds = placed::nanoseconds(&self.way.loops()[self.shape], placement, TURNS);
        self.samples.push(placement, nanoseconds / (TURNS as usize * CALLS_A_TURN) as f64);
    }
}

fn find(rows: &[Row], shape: usize, way: Way) -> &Row {
    rows.iter().find(|row| row.shape == shape && row.way == way).expect("all ways are in the list")
}

fn report_shape(report: &mut Report, rows: &[Row], shape: usize) {
    let direct = &find(rows, shape, Way::Direct).samples;
    let title = format!("{}: a call, {} rounds", SHAPES[shape], direct.rounds());
    let mut chart = Chart::new(format!("a call, {}", SHAPES[shape]), "ns: median of the placements, least and most");
    let mut table = Table::new(title, &["", "ns", "from", "to", "x direct call", "from", "to", "", "instructions"]);
    let mut facts = Vec::new();
    for row in rows.iter().filter(|row| row.shape == shape) {
        let (own, ratio) = (row.samples.spread(), row.samples.over(direct));
        chart.bar(row.way.name(), own.median, own.range);
        // The linker decides how many listed calls of the third loop cross a boundary of eight bytes and stay on the trampoline. So the loop has no
        // fixed number of instructions.
        if !cfg!(debug_assertions) && shape != BESIDE_A_HASH {
            let count = row.instructions.unwrap_or(f64::NAN);
            report.count(format!("instructions of a call, {}: {}", SHAPES[shape], row.way.name()), count);
        }
        let instructions = row.instructions.map_or("n/a".to_owned(), |count| figure(count, 2));
        let is_baseline = row.way == Way::Direct;
        let times = [own, ratio].into_iter().flat_map(|spread| [spread.median, spread.range[0], spread.range[1]]);
        let verdict = if is_baseline { "" } else { ratio.verdict(1.0) }.to_owned();
        let cells = times.map(|value| figure(value, 3)).chain([verdict, instructions]);
        table.row([row.way.name().to_owned()].into_iter().chain(cells));
        facts.push(json!({
            "call": row.way.name(),
            "ns": own.median,
            "ns_interval": own.range,
            "times_direct": ratio.median,
            "times_direct_interval": ratio.range,
            "instructions": row.instructions,
        }));
    }
    report.table(table);
    report.chart(chart);
    report.fact(
        ["latency_bound", "throughput_bound", "beside_a_hash"][shape],
        json!({ "rounds": direct.rounds(), "calls": facts }),
    );
}

fn report_targets(report: &mut Report, rows: &[Row]) {
    let mut table = Table::new("targets: ratios", &["", "ratio", "from", "to", "target", ""]);
    let mut facts = Vec::new();
    for (way, other, limit) in TARGETS.into_iter().chain(MORE_TARGETS) {
        for (shape, name) in SHAPES.iter().enumerate() {
            if shape == BESIDE_A_HASH && limit <= 1.0 {
                continue;
            }
            let [ours, theirs] = [way, other].map(|way| &find(rows, shape, way).samples);
            let ratio = ours.over(theirs);
            let (cells, target) = ratio.judged(limit, 1.0);
            let what = format!("{} / {}, {name}", way.name(), other.name());
            let words = format!("a call, {name}: time of ({}), times that of ({})", way.name(), other.name());
            report.judged(words, &cells[0], &cells[3], &cells[4]);
            facts.push(json!({ "ratio": what, "range": ratio.range, "target": target }));
            table.row([what].into_iter().chain(cells));
        }
    }
    report.table(table);
    report.fact("targets", json!(facts));
}
