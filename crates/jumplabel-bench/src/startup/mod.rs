//! `startup`: the cost before `main` of a program with 10,000 sites and 10,000 keys, compared with the same program without sites and keys.
//!
//! Relocations are read from the files, system calls are counted by tracing, and copied pages are read from /proc. Only the elapsed time and the page
//! faults are samples. They come from runs in which the two programs take turns.

pub mod image;
mod memory;
mod programs;
mod trace;

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::Result;
use crate::report::{Report, Table};
use crate::samples::Samples;
use image::Image;
use trace::Calls;

/// One of the two programs, and its figures.
struct Program {
    name: &'static str,
    image: Image,
    calls: Option<Calls>,
    copied: memory::Copied,
    microseconds: Samples,
    faults: Samples,
}

pub fn run(quick: bool) -> Result<Report> {
    let paths = programs::programs()?;
    let mut programs = Vec::new();
    for (name, path) in ["with sites", "without"].into_iter().zip(&paths) {
        let image = Image::read(path)?;
        let calls = trace::system_calls(path).map_err(|error| eprintln!("jumplabel-bench: no tracing: {error}")).ok();
        let copied = memory::copied(path, &image)?;
        programs.push(Program {
            name,
            image,
            calls,
            copied,
            microseconds: Samples::default(),
            faults: Samples::default(),
        });
    }
    let budget = crate::samples::budget(if quick { 2 } else { 20 });
    let start = Instant::now();
    let mut turns = [0, 1];
    while start.elapsed() < budget {
        fastrand::shuffle(&mut turns);
        for at in turns {
            let [microseconds, faults] = run_once(&paths[at])?;
            programs[at].microseconds.push(microseconds);
            programs[at].faults.push(faults);
        }
    }
    let mut report = Report::new("startup", quick);
    exact(&mut report, &programs);
    timed(&mut report, &programs);
    Ok(report)
}

/// Runs a program once. Returns its time in microseconds and its page faults.
fn run_once(path: &Path) -> Result<[f64; 2]> {
    let faults = || {
        // SAFETY: `rusage` has only numbers, for which zero is a value. The call fills them in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
            usage
        };
        usage.ru_minflt + usage.ru_majflt
    };
    let (before, start) = (faults(), Instant::now());
    let status = programs::command(path).status()?;
    let time = start.elapsed().as_nanos() as f64 / 1e3;
    if !status.success() {
        return Err(format!("{} failed: {status}", path.display()).into());
    }
    Ok([time, (faults() - before) as f64])
}

/// Reports the figures that are counted.
fn exact(report: &mut Report, programs: &[Program]) {
    let [with, without] = programs else { return };
    let mut table = Table::new(
        format!("{} sites, no flip; {} sites", with.image.sites, without.image.sites),
        &["before main", with.name, without.name, "target", ""],
    );
    let mut row = |what: &str, words: &str, figures: [Option<usize>; 2], target: Option<(usize, usize)>| {
        let cell = |figure: Option<usize>| figure.map_or("n/a".to_owned(), |figure| figure.to_string());
        let (limit, verdict) = match target {
            Some((figure, limit)) => (format!("<= {limit}"), if figure <= limit { "ok" } else { "MISSED" }),
            None => (String::new(), ""),
        };
        if !verdict.is_empty() {
            let words = format!("a program with {} sites before main: {words}", with.image.sites);
            report.judged(words, &cell(figures[0]), &limit, verdict);
        }
        table.row([what.to_owned(), cell(figures[0]), cell(figures[1]), limit, verdict.to_owned()]);
    };
    let both = |figure: fn(&Program) -> usize| [Some(figure(with)), Some(figure(without))];
    let relocations = both(|program| program.image.relocations.len());
    let in_text = both(|program| program.image.relocations_in(&program.image.text));
    let in_tables = both(|program| program.image.relocations_in(&program.image.tables));
    let (text, tables) = (both(|program| program.copied.text), both(|program| program.copied.tables));
    let data = both(|program| program.copied.data);
    let calls = [with, without].map(|program| program.calls);
    let of = |part: fn(&Calls) -> u64| calls.map(|calls| calls.map(|calls| part(&calls) as usize));
    let (before_main, after) = (of(|calls| calls.before_main), of(|calls| calls.after));
    let limit = |figures: [Option<usize>; 2], limit| figures[0].map(|figure| (figure, limit));
    // The library's own code needs some relocations, as any code does. The limit shows that sites and keys need none.
    let few = with.image.sites / 4 + relocations[1].unwrap_or(0);
    row("dynamic relocations", "dynamic relocations", relocations, limit(relocations, few));
    row("  of text", "relocations of text", in_text, limit(in_text, 0));
    row("  of tables", "relocations of tables", in_tables, limit(in_tables, 0));
    row("system calls", "system calls", before_main, before_main[0].zip(before_main[1]));
    row("  from main to the end", "", after, None);
    row("KiB of text copied", "KiB of text copied", text, limit(text, 0));
    row("KiB of tables copied", "KiB of tables copied", tables, limit(tables, 0));
    row("KiB of data copied", "", data, None);
    report.table(table);
    report.fact("sites", json!(with.image.sites));
    report.fact("relocations", json!({ "with": relocations[0], "without": relocations[1] }));
    report.count("relocations of text", in_text[0].unwrap_or(0) as f64);
    report.count("relocations of tables", in_tables[0].unwrap_or(0) as f64);
    for (what, calls) in [("before main", before_main), ("from main to the end", after)] {
        if let [Some(more), Some(less)] = calls {
            report.count(format!("system calls {what}, more than without sites"), more as f64 - less as f64);
        }
    }
    report.count("KiB of text and tables copied before main", (text[0].unwrap_or(0) + tables[0].unwrap_or(0)) as f64);
    report.fact("relocations_in_text", json!(in_text[0]));
    report.fact("relocations_in_tables", json!(in_tables[0]));
    report.fact("system_calls", json!({ "with": before_main[0], "without": before_main[1] }));
    report.fact("system_calls_after", json!({ "with": after[0], "without": after[1] }));
    report.fact("copied_kib", json!({ "text": text[0], "tables": tables[0], "data": data[0] }));
}

/// Reports the figures that are timed.
fn timed(report: &mut Report, programs: &[Program]) {
    let [with, without] = programs else { return };
    let head = ["fork to exit", "n", "p10 us", "p50 us", "page faults"];
    let mut table = Table::new("Whole runs, taking turns", &head);
    for program in programs {
        table.row([
            program.name.to_owned(),
            program.microseconds.len().to_string(),
            format!("{:.0}", program.microseconds.quantile(0.1)),
            format!("{:.0}", program.microseconds.median()),
            format!("{:.0}", program.faults.median()),
        ]);
    }
    report.table(table);
    let ratio = |part| with.microseconds.quantile(part) / without.microseconds.quantile(part);
    let (p10, p50) = (ratio(0.1), ratio(0.5));
    report.note(format!("time with sites / without: {p10:.3} at p10, {p50:.3} at p50"));
    report.fact("p50_us", json!({ "with": with.microseconds.median(), "without": without.microseconds.median() }));
    report.fact("time_ratio", json!({ "p10": p10, "p50": p50, "runs": with.microseconds.len() }));
    report.fact("page_faults", json!({ "with": with.faults.median(), "without": without.faults.median() }));
}
