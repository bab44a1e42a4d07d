//! Measures checks while another thread writes to the cache line of the flag.

use std::hint::black_box;
use std::time::{Duration, Instant};

use jumplabel_testing::clock::move_to;
use serde_json::json;

use super::ways::{CHECKS, Program, Way};
use super::writer::Writer;
use crate::report::{Report, Table, figure};
use crate::samples::{Samples, time};

/// The ways that are measured. The constant is the first, because the others are compared with it.
const WAYS: [Way; 5] = [Way::Constant, Way::Naked, Way::Site, Way::Relaxed, Way::Written];

/// Measures a check of a key, of a flag on a line that nobody writes, and of a flag on the line of the number that the other thread writes.
pub fn run(report: &mut Report, [here, there]: [usize; 2], quick: bool) {
    let budget = Duration::from_millis(if quick { 500 } else { 5000 });
    let samples = std::thread::scope(|scope| {
        let measured = scope.spawn(|| {
            move_to(&[here]);
            measure(&Writer::start(there), budget)
        });
        measured.join().expect("a thread that measures does not panic")
    });
    let rounds = samples[0].len();
    let title =
        format!("{CHECKS} checks, no fill, while another processor writes: more than a constant; {rounds} rounds");
    let mut table = Table::new(title, &["", "ns", "from", "to"]);
    let mut facts = Vec::new();
    for (way, samples_of_way) in WAYS.into_iter().zip(&samples) {
        let more = samples_of_way.minus(&samples[0]);
        let [from, to] = more.interval();
        table.row([way.name().to_owned()].into_iter().chain([more.median(), from, to].map(|ns| figure(ns, 2))));
        facts.push(json!({ "way": way.name(), "ns": more.median(), "ns_interval": [from, to] }));
    }
    report.table(table);
    report.fact("written", json!({ "rounds": rounds, "ways": facts }));
}

/// Nanoseconds of a check, round by round. A round counts only if the other thread wrote during each way.
fn measure(writer: &Writer, budget: Duration) -> [Samples; WAYS.len()] {
    let mut samples = [const { Samples::new() }; WAYS.len()];
    let mut turns: [usize; WAYS.len()] = std::array::from_fn(|at| at);
    let start = Instant::now();
    while start.elapsed() < budget {
        fastrand::shuffle(&mut turns);
        let mut round = [f64::NAN; WAYS.len()];
        for at in turns {
            let Some(run) = Program::OnePlace.run(WAYS[at]) else { continue };
            let before = writer.writes();
            let ns = time(|| _ = black_box(run(black_box(0), black_box(CHECKS)))) / CHECKS as f64;
            round[at] = if writer.writes() > before { ns } else { f64::NAN };
        }
        if !round.iter().any(|ns| ns.is_nan()) {
            samples.iter_mut().zip(round).for_each(|(samples, ns)| samples.push(ns));
        }
    }
    samples
}
