//! `pipe`: a scheduler of tasks that pass a token through pipes, with keys in its switch between tasks. The rows are those of the table in Linux's
//! document.

use serde_json::{Value, json};

use super::build::{COMPILERS, Compiler};
use super::execution::{MIGRATIONS, OWN_CLOCK, ROWS};
use super::{Way, build, object, rounds, simulate, sites_of_library, verdict};
use crate::Result;
use crate::callgrind::Events;
use crate::report::{Chart, Report, Table, figure};

/// The number of sites in the scheduler's source.
const SITES: usize = 13;

/// Figures of the document (static-keys.rst) for `perf bench sched pipe`, by row: without jump labels, and with them.
const PUBLISHED: [(usize, [f64; 2]); 6] = [
    (1, [855_700.0, 841_040.0]),
    (5, [1_474_374_262.0, 1_432_559_428.0]),
    (7, [1_178_049_567.0, 1_175_363_994.0]),
    (8, [208_368_926.0, 206_859_359.0]),
    (9, [5_569_188.0, 4_884_119.0]),
    (10, [1_601_600.0, 1_579_400.0]),
];

/// The ways, and the macro with which each is compiled.
const WAYS: [(&str, &str, &str); 3] = [
    ("without keys", "constant", "-DCONSTANT"),
    ("fallback", "fallback", "-DJUMPLABEL_FALLBACK"),
    ("keys", "keys", "-DKEYS"),
];

pub fn run(quick: bool) -> Result<Report> {
    let lock = build::lock()?;
    build::install()?;
    // A short run has one compiler.
    let number = if quick { 1 } else { COMPILERS.len() };
    let compilers: Vec<_> = COMPILERS[..number].iter().filter(|compiler| compiler.command().is_some()).collect();
    // A long run has eighty runs of each program. The document has 50.
    let (layouts, times, passes) = if quick { (8, 2, "20000") } else { (16, 5, "200000") };
    let mut ways = Vec::new();
    for compiler in &compilers {
        ways.extend(compiled(compiler, layouts, passes)?);
    }
    drop(lock);
    let library = sites_of_library(&ways);
    for (way, expected) in ways.iter().zip([0, 0, SITES].into_iter().cycle()) {
        if way.sites - library != expected {
            return Err(format!("{}: {} sites, not {expected}: not measured", way.name, way.sites - library).into());
        }
    }
    rounds(&mut ways, times)?;
    simulate(&mut ways, "2000");
    let mut report = Report::new("pipe", quick);
    let mut others = Vec::new();
    for (compiler, ways) in compilers.iter().zip(ways.chunks_exact(WAYS.len())) {
        let title = format!("{passes} passes by pipes, {}; {layouts} layouts x {times} runs", compiler.name);
        let facts = rows(&mut report, ways, &title);
        let counted = simulated(&mut report, ways, compiler.name);
        let mut chart = Chart::new(
            format!("a pass of the token, beside the program without keys, {}", compiler.name),
            "times as long as without keys",
        );
        for way in &ways[1..] {
            let (ratio, interval) = way.over(&ways[0], OWN_CLOCK);
            chart.bar(way.name, ratio, interval);
        }
        report.chart(chart);
        if others.is_empty() {
            report.fact("rows", facts.clone());
            report.fact("simulated", counted.clone());
        }
        others.push(json!({ "compiler": compiler.name, "rows": facts, "simulated": counted }));
    }
    report.fact("compilers", json!(others));
    report.fact("sites", json!(SITES));
    report.count("sites of pipe", SITES as f64);
    report.note("a pass is a read, a write, a read that finds nothing, and a switch with 13 checks; a dash is what this machine does not count");
    Ok(report)
}

/// Compiles the program in all ways with one compiler, and links it in all layouts.
fn compiled(compiler: &'static Compiler, layouts: usize, passes: &'static str) -> Result<Vec<Way>> {
    let source = build::sources().join("pipe.c");
    let objects = WAYS.map(|(_, word, option)| {
        object(compiler, &source, &format!("pipe-{}-{word}", compiler.name), &[build::optimisation(false), option])
    });
    build::compile(&objects)?;
    objects.iter().zip(WAYS).map(|(object, (name, ..))| Way::link(name, &[object], layouts, vec![passes])).collect()
}

/// Adds the document's table for one compiler.
fn rows(report: &mut Report, ways: &[Way], title: &str) -> Value {
    let [_, fallback, keys] = ways else { return Value::Null };
    let head = ["", "fallback", "keys", "saved %", "from", "to", "", "Linux 3.3-rc2: without", "with", "saved %"];
    let mut table = Table::new(title, &head);
    let mut facts = Vec::new();
    for (row, (name, _)) in ROWS.iter().enumerate() {
        let medians = [fallback, keys].map(|way| way.layouts(row).median());
        let (ratio, [from, to]) = keys.over(fallback, row);
        let saved = saved(ratio);
        // The ratio of small numbers means nothing.
        let is_ratio = !medians[0].is_nan() && medians[0] > 10.0 && row != MIGRATIONS;
        let spread =
            [saved, self::saved(to), self::saved(from)].map(|value| figure(if is_ratio { value } else { f64::NAN }, 1));
        let mut cells = vec![(*name).to_owned()];
        cells.extend(medians.map(|median| figure(median, 0)));
        cells.extend(spread);
        cells.push(if is_ratio { verdict([from, to]).to_owned() } else { String::new() });
        cells.extend(published(row));
        table.row(cells);
        facts.push(json!({ "row": name, "fallback": medians[0], "keys": medians[1], "saved_percent": saved,
            "interval": [self::saved(to), self::saved(from)] }));
    }
    report.table(table);
    json!(facts)
}

fn saved(ratio: f64) -> f64 {
    100.0 * (1.0 - ratio)
}

fn published(row: usize) -> [String; 3] {
    let Some((_, [without, with])) = PUBLISHED.iter().find(|(of, _)| *of == row) else { return Default::default() };
    [figure(*without, 0), figure(*with, 0), figure(saved(with / without), 1)]
}

/// The table of events that callgrind counts and simulates, in user mode.
fn simulated(report: &mut Report, ways: &[Way], compiler: &str) -> Value {
    let mut table = Table::new(
        format!("2,000 passes, {compiler}, user mode, simulated"),
        &["", "without keys", "fallback", "keys", "saved %"],
    );
    let mut facts = Vec::new();
    for (name, of) in Events::ROWS {
        let each: Vec<f64> = ways.iter().map(|way| way.simulated.as_ref().map_or(f64::NAN, of)).collect();
        let mut cells = vec![name.to_owned()];
        cells.extend(each.iter().map(|&count| figure(count, 0)));
        cells.push(figure(saved(each[2] / each[1]), 1));
        table.row(cells);
        facts.push(json!({ "row": name, "without": each[0], "fallback": each[1], "keys": each[2] }));
    }
    report.table(table);
    json!(facts)
}
