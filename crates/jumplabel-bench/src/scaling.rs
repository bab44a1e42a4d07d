//! `scaling`: how the time of a flip grows with the number of sites, with the number of threads that execute the sites, and with the number of
//! objects that contain them. The flips are made in other programs (test-crates/scaling, programs/objects.c). A short run leaves out the last row, a
//! million sites.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::report::{Chart, Report, Table, Target, figure};
use crate::samples::Samples;
use crate::{Result, cargo, programs};

/// The limit in milliseconds for a flip of a million sites on private pages.
const LIMIT_OF_MILLION: f64 = 50.0;
/// The greatest ratio of a flip of 257 sites to a flip of 255. The number 255 fits a byte, and 255 sites fit a page; 257 do not.
const LIMIT_OF_STEP: f64 = 1.1;
/// The greatest ratio of a flip while 64 threads execute the sites to a flip while two threads do.
const LIMIT_OF_THREADS: f64 = 2.0;

/// A line of the output of one of these programs.
struct Line {
    number: usize,
    /// The microseconds of the very first flip. NaN if the line has none.
    first: f64,
    /// The microseconds of the other flips.
    flips: Samples,
}

pub fn run(quick: bool) -> Result<Report> {
    let target = cargo::directory("scaling");
    let mut build = cargo::build("scaling", &target);
    build.args((!quick).then_some("--features=million"));
    if !build.stdout(std::io::stderr()).status()?.success() {
        return Err("cargo could not build test-crates/scaling".into());
    }
    let flips = if quick { "20" } else { "200" };
    let output = Command::new(target.join("release/scaling")).arg(flips).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("test-crates/scaling: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut report = Report::new("scaling", quick);
    of_sites(&mut report, &lines(&text, "sites", 1)?);
    of_threads(&mut report, &lines(&text, "threads", 0)?);
    let output = programs::objects()?.arg(flips).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("programs/objects.c: {}", output.status).into());
    }
    of_objects(&mut report, &lines(&String::from_utf8(output.stdout)?, "objects", 1)?);
    Ok(report)
}

/// Reads the lines that begin with `word`. In each line, the first `firsts` times are those of the very first flips.
fn lines(text: &str, word: &str, firsts: usize) -> Result<Vec<Line>> {
    let mut all = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix(word)) {
        let numbers = line.split_whitespace().map(str::parse).collect::<std::result::Result<Vec<u64>, _>>()?;
        let [number, ref times @ ..] = numbers[..] else { return Err("an empty line".into()) };
        let microseconds = |time: &u64| *time as f64 / 1e3;
        let mut flips = Samples::default();
        times.iter().skip(firsts).map(microseconds).for_each(|time| flips.push(time));
        let first = times.first().filter(|_| firsts > 0).map_or(f64::NAN, microseconds);
        all.push(Line { number: number as usize, first, flips });
    }
    Ok(all)
}

fn of_sites(report: &mut Report, lines: &[Line]) {
    let title = "flips of so many sites, one thread; us";
    let head = ["sites", "p10", "p50", "p90", "ns a site", "the very first", "target", ""];
    let (mut table, mut facts) = (Table::new(title, &head), Vec::new());
    let mut chart = Chart::logarithmic("a flip, by the number of its sites", "us: p50, from p10 to p90");
    for Line { number, first, flips } in lines {
        let [p10, p50, p90] = [0.1, 0.5, 0.9].map(|part| flips.quantile(part));
        let target = Target { figure: p50 / 1e3, limit: LIMIT_OF_MILLION };
        let has_target = *number == 1_000_000;
        let mut cells = vec![number.to_string()];
        cells.extend([p10, p50, p90, p50 * 1e3 / *number as f64, *first].map(|value| figure(value, 1)));
        if has_target {
            let [_, limit, verdict] = target.cells();
            let what = format!("a flip of {number} sites, one thread: p50, ms");
            report.judged(what, &figure(target.figure, 1), &limit, &verdict);
            cells.extend([format!("{limit} ms"), verdict]);
        }
        table.row(cells);
        chart.bar(number.to_string(), p50, [p10, p90]);
        facts.push(json!({ "sites": number, "p10_us": p10, "p50_us": p50, "p90_us": p90, "first_us": first,
            "target": has_target.then(|| target.json()) }));
    }
    report.table(table);
    report.chart(chart);
    report.fact("sites", json!(facts));
    let of = |wanted: usize, part| {
        lines.iter().find(|line| line.number == wanted).map_or(f64::NAN, |line| line.flips.quantile(part))
    };
    let step = Target { figure: of(257, 0.1) / of(255, 0.1), limit: LIMIT_OF_STEP };
    let mut table = Table::new("targets", &["", "figure", "target", ""]);
    let [shown, limit, verdict] = step.cells();
    report.judged("a flip of 257 sites, one thread: p10, times that of 255", &shown, &limit, &verdict);
    table.row(["257 sites, times 255 (p10): no step at 256, nor at a page".to_owned(), shown, limit, verdict]);
    report.table(table);
    report.fact("step", step.json());
    // The slope of a line through two points: 1,000 sites, for which most of the time depends on the sites, and the last row.
    if let Some(last) = lines.last().filter(|last| last.number > 1_000) {
        let slope = (of(last.number, 0.5) - of(1_000, 0.5)) * 1e3 / (last.number - 1_000) as f64;
        report.note(format!("slope: {} ns a site from 1,000 to {} sites", figure(slope, 1), last.number));
        report.fact("slope_ns", json!(slope));
    }
}

fn of_objects(report: &mut Report, lines: &[Line]) {
    let title = "flips of a key with ten sites in each of so many shared libraries, one thread; us";
    let head = ["libraries", "p10", "p50", "p90", "us a library", "the first after loading"];
    let (mut table, mut facts) = (Table::new(title, &head), Vec::new());
    let mut chart = Chart::logarithmic("a flip, by the number of shared libraries", "us: p50, from p10 to p90");
    for Line { number, first, flips } in lines {
        let [p10, p50, p90] = [0.1, 0.5, 0.9].map(|part| flips.quantile(part));
        let mut cells = vec![number.to_string()];
        cells.extend([p10, p50, p90, p50 / *number as f64, *first].map(|value| figure(value, 1)));
        table.row(cells);
        chart.bar(number.to_string(), p50, [p10, p90]);
        facts.push(json!({ "objects": number, "p10_us": p10, "p50_us": p50, "p90_us": p90, "first_us": first }));
    }
    report.table(table);
    report.chart(chart);
    report.fact("objects", json!(facts));
}

fn of_threads(report: &mut Report, lines: &[Line]) {
    let two = lines.iter().find(|line| line.number == 2).map_or(f64::NAN, |line| line.flips.quantile(0.1));
    let title = "flips of 100 sites beside threads that execute them; us";
    let head = ["threads", "p10", "p50", "p90", "of 2 threads", "target", ""];
    let (mut table, mut facts) = (Table::new(title, &head), Vec::new());
    let mut chart = Chart::logarithmic("a flip of 100 sites, by the number of threads", "us: p50, from p10 to p90");
    for Line { number, flips, .. } in lines {
        let [p10, p50, p90] = [0.1, 0.5, 0.9].map(|part| flips.quantile(part));
        let target = Target { figure: p10 / two, limit: LIMIT_OF_THREADS };
        let mut cells = vec![number.to_string()];
        cells.extend([p10, p50, p90].map(|value| figure(value, 1)));
        let judged = *number == 64;
        let [ratio, limit, verdict] = target.cells();
        if judged {
            let what =
                format!("a flip of 100 sites beside {number} threads that execute them: p10, times that beside 2");
            report.judged(what, &ratio, &limit, &verdict);
        }
        cells.push(ratio);
        cells.extend(if judged { [limit, verdict] } else { Default::default() });
        table.row(cells);
        chart.bar(number.to_string(), p50, [p10, p90]);
        facts.push(json!({ "threads": number, "p10_us": p10, "p50_us": p50, "p90_us": p90,
            "target": judged.then(|| target.json()) }));
    }
    report.table(table);
    report.chart(chart);
    report.note("of 2 threads: by the p10; above it, a flip waits for its turn on a processor");
    report.fact("threads", json!(facts));
}
