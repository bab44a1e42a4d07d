//! `sqlite`: a large program with a check at each of its about 8,000 assertions. The ways separate the causes of the cost.
//!
//! ```text
//!   constant       the compiler knows that all assertions are off
//!   nop            a site's instruction, but the compiler knows of no branch: the cost of the bytes
//!   empty goto     a site's branch for the compiler, but no instruction: the cost of code with arms
//!   one label      the same, as before <jumplabel/site.h> told gcc that arms are unlikely
//!   site           both; also without the prefix byte before its instruction
//! ```

use serde_json::json;

use super::execution::OWN_CLOCK;
use super::{Way, build, object, rounds, simulate, sites_of_library, verdict};
use crate::Result;
use crate::callgrind::Events;
use crate::report::{Chart, Report, Table, Target, figure};

/// The ways. Each has its macro and options, the number of its compiler, and whether a short run leaves it out.
const WAYS: [(&str, &str, usize, bool); 13] = [
    ("constant", "CONSTANT", 0, false),
    ("site", "SITE", 0, false),
    ("relaxed load", "RELAXED", 0, false),
    (BARE, "BARE", 0, true),
    ("nop", "NOP", 0, true),
    ("empty goto", "GOTO", 0, true),
    ("empty goto, one label", "ONE", 0, true),
    ("site, its arm in line", "LIKELY", 0, true),
    (CLANG, "CONSTANT", 1, true),
    ("empty goto, clang", "GOTO", 1, true),
    ("site, clang", "SITE", 1, true),
    ("site, saved in its arm, clang", "SITE -mllvm -regalloc-csr-first-time-cost=10", 1, true),
    ("relaxed load, clang", "RELAXED", 1, true),
];
/// The way without the prefix of a site, and the greatest ratio of the time of a site with the prefix to the time without.
const BARE: &str = "site without its prefix";
const PREFIX_LIMIT: f64 = 1.005;
/// The way with which the other ways for clang are compared.
const CLANG: &str = "constant, clang";

/// The options for sqlite: assertions, and nothing that needs threads.
const OPTIONS: [&str; 3] = ["-DSQLITE_DEBUG", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"];

pub fn run(quick: bool) -> Result<Report> {
    let lock = build::lock()?;
    build::install()?;
    let sources = build::sqlite()?;
    let optimisation = build::optimisation(quick);
    let include = |path: &std::path::Path| format!("-I{}", path.display());
    let (asserted, own) = (include(&build::sources().join("asserted")), include(&sources));
    let is_there = |compiler: usize| build::COMPILERS[compiler].command().is_some();
    let is_compiled = |(_, _, compiler, is_long): &&(_, _, usize, bool)| !(quick && *is_long) && is_there(*compiler);
    let compiled: Vec<_> = WAYS.iter().filter(is_compiled).collect();
    let mut objects = Vec::new();
    for (_, option, compiler, _) in &compiled {
        let compiler = &build::COMPILERS[*compiler];
        let define = format!("-D{option}");
        let options = [optimisation, &asserted, &own].into_iter().chain(define.split(' ')).chain(OPTIONS);
        let options: Vec<&str> = options.collect();
        let name = format!("{}-{}{optimisation}", compiler.name, option.to_lowercase().replace([' ', '='], ""));
        objects.push(object(compiler, &sources.join("sqlite3.c"), &format!("sqlite-{name}"), &options));
        objects.push(object(compiler, &build::sources().join("sqlite.c"), &format!("load-{name}"), &options));
    }
    build::compile(&objects)?;
    let (layouts, times, load) = if quick { (2, 2, "1") } else { (16, 3, "2") };
    let mut ways = Vec::new();
    for (pair, (name, ..)) in objects.chunks(2).zip(&compiled) {
        ways.push(Way::link(name, &[&pair[0], &pair[1]], layouts, vec![load])?);
    }
    drop(lock);
    let sites = assert_sites(&ways)?;
    let told: Vec<Way> = ways.iter().flat_map(told).collect();
    ways.extend(told);
    rounds(&mut ways, times)?;
    simulate(&mut ways, "1");

    let mut report = Report::new("sqlite", quick);
    let milliseconds = ways[0].layouts(OWN_CLOCK).median() / 1e6;
    let title = format!(
        "sqlite, {optimisation}, {sites} assertions; {milliseconds:.1} ms without; {layouts} layouts x {times} runs",
    );
    let head = [
        "assertions",
        "x constant",
        "from",
        "to",
        "",
        "kB of code",
        "instructions",
        "cache references",
        "branches",
        "mispredicted",
    ];
    let mut table = Table::new(title, &head);
    let mut chart = Chart::new("sqlite with a check at each assertion", "times as long as without");
    let mut facts = Vec::new();
    for way in &ways {
        // A way is compared with the constant of its own compiler.
        let beside = ways.iter().find(|of| way.name.ends_with("clang") && of.name == CLANG).unwrap_or(&ways[0]);
        let (ratio, [from, to]) = way.over(beside, OWN_CLOCK);
        let simulated = [0, 1, 3, 4].map(|row| {
            let of = |way: &Way| way.simulated.as_ref().map_or(f64::NAN, Events::ROWS[row].1);
            of(way) / of(beside)
        });
        let is_baseline = std::ptr::eq(way, beside);
        let mut cells = vec![way.name.to_owned()];
        cells.extend([ratio, from, to].map(|value| figure(value, 3)));
        cells.push(if is_baseline { "" } else { verdict([from, to]) }.to_owned());
        cells.push(figure(way.text as f64 / 1e3, 0));
        cells.extend(simulated.map(|ratio| figure(ratio, 3)));
        table.row(cells);
        if !is_baseline {
            chart.bar(way.name, ratio, [from, to]);
        }
        facts.push(json!({ "way": way.name, "ratio": ratio, "interval": [from, to], "text": way.text, "simulated": {
            "instructions": simulated[0], "references": simulated[1], "branches": simulated[2], "mispredicted": simulated[3] } }));
    }
    report.table(table);
    report.chart(chart);
    let of = |name: &str| ways.iter().find(|way| way.name == name);
    if let [Some(site), Some(load)] = ["site", "relaxed load"].map(of) {
        let (ratio, [from, to]) = site.over(load, OWN_CLOCK);
        // A short run is compiled with less optimisation and has only two layouts. So it is not compared with the target.
        let target = Target { figure: if quick { f64::NAN } else { ratio }, limit: 1.0 };
        let verdict = match verdict([from, to]) {
            _ if quick => "not judged: a short run is compiled with less".to_owned(),
            none => judged(target, none),
        };
        report.judged(
            format!("sqlite with {sites} checks that are off: time with sites, times that with relaxed loads"),
            &figure(ratio, 3),
            "<= 1",
            &verdict,
        );
        report.note(format!(
            "a site takes {ratio:.3} of a relaxed load's time ({from:.3} to {to:.3}), target <= 1: {verdict}"
        ));
        report.fact("target", target.json());
    }
    if let [Some(site), Some(bare)] = ["site", BARE].map(of) {
        let (ratio, [from, to]) = site.over(bare, OWN_CLOCK);
        let target = Target { figure: ratio, limit: PREFIX_LIMIT };
        let bytes = site.text as f64 - bare.text as f64;
        let (limit, verdict) = (format!("<= {PREFIX_LIMIT}"), judged(target, verdict([from, to])));
        report.note(format!(
            "a site takes {ratio:.4} of its time without the prefix ({from:.4} to {to:.4}), target {limit}: {verdict}; {bytes} bytes more of code"
        ));
        let words =
            format!("sqlite with {sites} checks that are off: time, times that without the byte in front of a site");
        report.judged(words, &figure(ratio, 4), &limit, &verdict);
        report.fact("prefix", target.json());
    }
    report.note(
        "instructions and what follows them: of one run, user mode, simulated by callgrind, times those of constant",
    );
    report.note("on: each assertion is executed; clang: times the constant of the same compiler");
    report.fact("ways", json!(facts));
    report.fact("sites", json!(sites));
    Ok(report)
}

/// The verdict on a ratio with a limit of at least 1. `none` is the text for a ratio that does not differ from 1; for another ratio, `none` is empty.
fn judged(target: Target, none: &str) -> String {
    if none.is_empty() { target.cells()[2].clone() } else { format!("ok; {none}") }
}

/// Runs of the same program with an argument. With `on`, it executes every assertion. With `again`, it turns the assertions on and off before the
/// work, which leaves copied pages. Only ways that can change at run time have such runs.
fn told(way: &Way) -> Vec<Way> {
    let told = |(name, word)| way.told(name, word);
    let words: &[_] = match way.name {
        "site" => &[("site, on", "on"), ("site, off again", "again")],
        "relaxed load" => &[("relaxed load, on", "on")],
        "site, its arm in line" => &[("site, its arm in line, on", "on")],
        _ => &[],
    };
    words.iter().copied().map(told).collect()
}

/// The number of the program's sites. Returns an error unless each way with sites has thousands, and each other way has none.
fn assert_sites(ways: &[Way]) -> Result<usize> {
    let library = sites_of_library(ways);
    for way in ways {
        let (own, has) = (way.sites - library, way.name.starts_with("site"));
        if has != (own > 5_000) || !has && own != 0 {
            return Err(format!("{}: {own} sites: not measured", way.name).into());
        }
    }
    Ok(ways.iter().find(|way| way.name == "site").map_or(0, |way| way.sites - library))
}
