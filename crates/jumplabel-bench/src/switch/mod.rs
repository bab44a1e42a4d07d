//! `switch`: the cost of a choice among three arms by a constant, a static switch, a match on a load, and a call through a table. The choices run in
//! the two warm loops of `site`.
//!
//! ```text
//!   first         check that each choice takes each arm; step through each loop: counts the instructions of a choice
//!   each round    run every choice in both loops once, in random order; the baseline's time of the round is subtracted
//!   after all     median of the differences over all placements, with the least and the greatest
//! ```

mod choices;

use serde_json::json;

use crate::Result;
use crate::placed::{self, PLACEMENTS, Placed};
use crate::report::{Chart, Report, Table, Target, figure};
use crate::site::loops::{CHECKS_A_TURN, LOOPS};
use crate::step;
use choices::{ARMS, CHOICES, Choice};

/// The turns of a loop in one sample, which takes about 100 us.
const TURNS: u64 = 5_000;

/// The measurements of one choice, which takes one arm, in one loop.
struct Row {
    shape: usize,
    choice: Choice,
    arm: usize,
    samples: Placed,
    /// The instructions of an eighth of a turn. NaN where tracing is not allowed.
    instructions: f64,
}

pub fn run(quick: bool) -> Result<Report> {
    let mut rows = Vec::new();
    for shape in 0..LOOPS.len() {
        for (choice, arm) in CHOICES {
            rows.push(Row::new(shape, choice, arm)?);
        }
    }
    let budget = crate::samples::budget(if quick { 3 } else { 30 });
    placed::rounds(budget, rows.len(), |placement, at| rows[at].sample(placement))?;
    let mut report = Report::new("switch", quick);
    for shape in 0..LOOPS.len() {
        report_shape(&mut report, &rows, shape);
    }
    report_targets(&mut report, &rows);
    report.note("ns, instructions: of a choice and its arm, which is one instruction");
    report.note(format!("ns: the median of {PLACEMENTS} placements, from the least to the most of them"));
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

impl Row {
    fn new(shape: usize, choice: Choice, arm: usize) -> Result<Row> {
        Choice::prepare(arm)?;
        choice.verify(arm, shape)?;
        let instructions =
            step::instructions_of_turn(choice.loops(shape)[0]).unwrap_or(f64::NAN) / CHECKS_A_TURN as f64;
        Ok(Row { shape, choice, arm, samples: Placed::default(), instructions })
    }

    fn sample(&mut self, placement: usize) -> Result<()> {
        Choice::prepare(self.arm)?;
        let nanoseconds = placed::nanoseconds(&self.choice.loops(self.shape), placement, TURNS);
        self.samples.push(placement, nanoseconds / (TURNS as usize * CHECKS_A_TURN) as f64);
        Ok(())
    }
}

fn find(rows: &[Row], shape: usize, choice: Choice, arm: usize) -> &Row {
    let is_it = |row: &&Row| row.shape == shape && row.choice == choice && row.arm == arm;
    rows.iter().find(is_it).expect("all choices are in the list")
}

/// The instructions of one choice and its arm.
fn of_choice(rows: &[Row], row: &Row) -> f64 {
    row.instructions - find(rows, row.shape, Choice::Baseline, 0).instructions
}

fn report_shape(report: &mut Report, rows: &[Row], shape: usize) {
    let baseline = &find(rows, shape, Choice::Baseline, 0).samples;
    let (rounds, baseline_ns) = (baseline.rounds(), baseline.spread().median);
    let name = LOOPS[shape].0;
    let title = format!("{name}: {baseline_ns:.2} ns a choice without choice and arm, {rounds} rounds");
    let mut chart = Chart::new(
        format!("a choice among three arms, {name}"),
        "ns more than none: median of the placements, least and most",
    );
    let mut table = Table::new(title, &["a choice among 3", "arm", "ns", "from", "to", "", "instructions"]);
    let mut facts = Vec::new();
    for row in rows.iter().filter(|row| row.shape == shape && row.choice != Choice::Baseline) {
        let difference = row.samples.minus(baseline);
        let (ns, [from, to], instructions) = (difference.median, difference.range, of_choice(rows, row));
        let of_arm = format!("{}, arm {}", row.choice.name(), row.arm);
        if !cfg!(debug_assertions) {
            report.count(format!("instructions of a choice, {name}: {of_arm}"), instructions);
        }
        chart.bar(of_arm, ns, [from, to]);
        let figures = [
            figure(ns, 3),
            figure(from, 3),
            figure(to, 3),
            difference.verdict(0.0).to_owned(),
            figure(instructions, 2),
        ];
        table.row([row.choice.name().to_owned(), row.arm.to_string()].into_iter().chain(figures));
        facts.push(json!({
            "choice": row.choice.name(),
            "arm": row.arm,
            "ns": ns,
            "ns_interval": [from, to],
            "instructions": instructions,
        }));
    }
    report.table(table);
    report.chart(chart);
    report.fact(
        ["latency_bound", "alu_saturated"][shape],
        json!({ "rounds": rounds, "baseline_ns": baseline_ns, "choices": facts }),
    );
}

/// Reports the targets. Each target uses the arm at which a static switch costs the most relative to the other choice.
fn report_targets(report: &mut Report, rows: &[Row]) {
    let mut table = Table::new("targets: instructions more, of the worst arm", &["", "more", "target", ""]);
    let mut facts = Vec::new();
    for (other, limit) in [(Choice::Constant, 2.0), (Choice::Match, -1.0)] {
        for (shape, (name, _)) in LOOPS.iter().enumerate() {
            let more = (0..ARMS).map(|arm| {
                let beside = find(rows, shape, other, if other == Choice::Constant { 0 } else { arm });
                find(rows, shape, Choice::Switch, arm).instructions - beside.instructions
            });
            let worst =
                more.fold(f64::NEG_INFINITY, |worst, more| if more > worst || more.is_nan() { more } else { worst });
            let target = Target { figure: worst, limit };
            let what = format!("static_switch - {}, {name}", other.name());
            facts.push(json!({ "instructions": what, "target": target.json() }));
            let [more, limit, verdict] = target.cells();
            let words = format!(
                "a choice among {ARMS} arms in the {name} loop: instructions of static_switch, its worst arm, more than of {}",
                other.name()
            );
            report.judged(words, &more, &limit, &verdict);
            table.row([what, more, limit, verdict]);
        }
    }
    report.table(table);
    report.fact("targets", json!(facts));
}
