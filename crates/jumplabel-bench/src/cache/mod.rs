//! `cache`: the benchmark of the note on static keys for a Rust kernel on RISC-V. Between checks, the caches are filled with other data.
//!
//! ```text
//!   ways      the same check as a constant, a naked key, a site, and four loads; at one place of the program, and at a thousand places
//!   loops     single, concentrated, scattered; first on one processor, then on all at once
//!   fill      the data that fills the caches: the note's 2 MB for each processor
//!   orders    the times of whole loops in the note's two orders
//!   writer, shared_line    a flag on a line that another thread writes
//!   riscv     instructions, loads and fences of a check, in the code that rustc makes for RISC-V
//! ```

mod fill;
mod loops;
mod orders;
pub mod riscv;
mod rounds;
mod shared_line;
mod ways;
mod writer;

use serde_json::{Value, json};

use jumplabel_testing::clock::processors;

use crate::Result;
use crate::report::{Chart, Report, Table};
use loops::LOOPS;
use rounds::{Measured, Row};
use ways::{PROGRAMS, Program, WAYS, Way};

pub fn run(quick: bool) -> Result<Report> {
    ways::store();
    // Without optimisation, the code of the ways is not decoded.
    let code = if cfg!(debug_assertions) { Vec::new() } else { ways::code()? };
    let processors = processors();
    let mut report = Report::new("cache", quick);
    let one = rounds::measure(&processors[..1], quick);
    phase(&mut report, "one_processor", &one, quick);
    if processors.len() > 1 {
        phase(&mut report, "all_processors", &rounds::measure(&processors, quick), quick);
        shared_line::run(&mut report, [processors[0], processors[1]], quick);
    } else {
        report.fact("all_processors", Value::Null);
        report.fact("written", Value::Null);
        report.note("n/a: there is one processor, so that no other thread runs or writes beside the checks");
    }
    orders::run(&mut report, processors[0], quick);
    riscv::count(&mut report);
    let fact = |(program, way, [instructions, loads]): &(Program, Way, [usize; 2])| json!({ "program": program.name(), "way": way.name(), "instructions": instructions, "loads": loads });
    let code: Vec<_> = code.iter().map(fact).collect();
    report.fact("code", code.into());
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    report.note("ns: what a check takes more than a constant, the median of the rounds and its 95 % interval. Each check, or each thousand, is");
    report.note("timed by itself; what it takes to read the clock is in the constant's, too. The fill is data: code stays in the first-level cache");
    report.note("x86-64 has one load for plain, relaxed, acquire and SeqCst: their rows differ by noise");
    Ok(report)
}

/// The tables of a run on one processor, or on all processors.
fn phase(report: &mut Report, name: &'static str, measured: &Measured, quick: bool) {
    let mut facts = Vec::new();
    for program in PROGRAMS {
        let places = match program {
            Program::OnePlace => "one place in the code: N flags, one key",
            Program::Places => "N places: N flags, N keys",
        };
        let title = format!("{}, {places}; {} rounds", name.replace('_', " "), measured.rounds);
        let mut table = Table::new(
            title.clone(),
            &["", "single", "from", "to", "concentrated", "from", "to", "scattered", "from", "to"],
        );
        for shape in LOOPS {
            let mut chart = Chart::new(format!("{title}: {}", shape.name()), "ns more than a constant");
            for way in WAYS {
                let [median, from, to] = measured.more_than_constant(measured.find(program, shape, way));
                chart.bar(way.name(), median, [from, to]);
            }
            report.chart(chart);
        }
        for way in WAYS {
            let mut cells = vec![way.name().to_owned()];
            for shape in LOOPS {
                let row = measured.find(program, shape, way);
                let [median, from, to] = measured.more_than_constant(row);
                // The row of the constant shows the constant's own time, which is subtracted from the other rows.
                let shown =
                    if way == Way::Constant { [row.check.median(), f64::NAN, f64::NAN] } else { [median, from, to] };
                cells.extend(shown.map(|ns| crate::report::figure(ns, 2)));
                facts.push(fact(row, [median, from, to], quick));
            }
            table.row(cells);
        }
        report.table(table);
    }
    let loops: Vec<_> =
        LOOPS.iter().map(|shape| json!({ "loop": shape.name(), "shape": shape.shape(quick) })).collect();
    report.fact(
        name,
        json!({ "processors": measured.processors, "rounds": measured.rounds, "fill_bytes": fill::BYTES, "loops": loops, "ways": facts }),
    );
}

fn fact(row: &Row, [median, from, to]: [f64; 3], quick: bool) -> Value {
    json!({
        "program": row.program.name(),
        "loop": row.shape.name(),
        "way": row.way.name(),
        "checks": row.shape.checks(quick),
        "ns": median,
        "ns_interval": [from, to],
        "ns_of_all": row.whole.median(),
    })
}
