//! `report`: runs all measurements, each in a process of its own, and makes `report.md`, `report.html` and `results.json` from the results.
//!
//! ```text
//!   results.json   { "version": 1, "quick": .., "results": [ output of each command with --json, or its error ] }
//!   --from FILE    makes the pages from results of another machine; nothing is measured
//! ```

mod drawing;
mod page;
mod summary;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::Result;

/// The version of the schema of `results.json`. Another number means another schema.
pub const VERSION: u64 = 1;

/// All commands that measure, with the question that each answers, in the order of the report.
const PARTS: [(&str, &str); 18] = [
    ("listing", "What is in the code?"),
    ("site", "What does a check cost, warm and cold?"),
    ("micro", "What do a nop, a jump, a branch, a load and a miss cost?"),
    ("layers", "What do diagnostics cost that are switched off, by what guards them?"),
    ("cache", "What does a check cost while caches are filled with other data?"),
    ("flips", "How long does a flip take?"),
    ("peers", "How long does it take others, and what can they not do?"),
    ("scaling", "How does the time of a flip grow?"),
    ("calls", "What does a call cost whose target may change?"),
    ("switch", "What does a choice among three arms cost?"),
    ("ops", "What does a table of operations cost?"),
    ("up", "What do lock prefixes cost?"),
    ("tracepoints", "What do dormant tracepoints cost, by their number?"),
    ("pipe", "What do keys save in a scheduler?"),
    ("sqlite", "What do 8,000 dormant checks cost a program?"),
    ("startup", "What does a program with 10,000 sites pay before main?"),
    ("compile", "What does the compiler pay?"),
    ("size", "How much larger is a program for its first key?"),
];

/// Measures, unless `from` has results already. Writes the pages. Returns the first screen of the report, and the path of the full page.
pub fn run(quick: bool, only: &[String], from: Option<&Path>, to: &Path) -> Result<String> {
    let results = match from {
        Some(file) => read(file)?,
        None => measure(quick, only)?,
    };
    fs::create_dir_all(to)?;
    fs::write(to.join("results.json"), format!("{results:#}\n"))?;
    fs::write(to.join("report.md"), page::markdown(&results))?;
    fs::write(to.join("report.html"), page::html(&results)?)?;
    let failed: Vec<&str> = parts(&results).filter(|part| part.error.is_some()).map(|part| part.name).collect();
    if failed.is_empty() {
        Ok(format!("{}\n{}\n", summary::text(&results), to.join("report.html").display()))
    } else {
        Err(format!("no figures of: {}", failed.join(", ")).into())
    }
}

/// Reads a file of results.
pub fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let results: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    match results["version"].as_u64() {
        Some(VERSION) => Ok(results),
        Some(other) => Err(format!("{}: version {other}; this program knows version {VERSION}", file.display()).into()),
        None => Err(format!("{}: not a results.json of `jumplabel-bench report`", file.display()).into()),
    }
}

fn measure(quick: bool, only: &[String]) -> Result<Value> {
    if let Some(unknown) = only.iter().find(|name| PARTS.iter().all(|(part, _)| part != name)) {
        let names = PARTS.map(|(name, _)| name).join(", ");
        return Err(format!("there is no measurement `{unknown}`; there are {names}").into());
    }
    let chosen: Vec<_> =
        PARTS.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|one| one == name)).collect();
    let (start, mut results) = (Instant::now(), Vec::new());
    for (at, (name, question)) in chosen.iter().enumerate() {
        eprintln!("{}/{} {name}: {question} ({:.0} s so far)", at + 1, chosen.len(), start.elapsed().as_secs_f64());
        let mut result = one(name, quick).unwrap_or_else(|error| {
            eprintln!("{name}: {error}");
            json!({ "benchmark": name, "error": error.to_string() })
        });
        result["question"] = json!(question);
        results.push(result);
    }
    eprintln!("done in {:.0} s", start.elapsed().as_secs_f64());
    Ok(
        json!({ "version": VERSION, "quick": quick, "commit": commit(), "machine": crate::machine::Machine::here().json(), "results": results }),
    )
}

/// The commit of the measured sources. `None` if git cannot say.
fn commit() -> Option<String> {
    let output = Command::new("git").args(["-C", env!("CARGO_MANIFEST_DIR"), "rev-parse", "HEAD"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn one(name: &str, quick: bool) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([name, "--json"]).args(quick.then_some("--quick")).stderr(Stdio::piped());
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}; {}", output.status, said.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The result of one command, for display.
pub struct Part<'a> {
    pub name: &'a str,
    pub question: &'a str,
    pub error: Option<&'a str>,
    value: &'a Value,
}

pub fn parts(results: &Value) -> impl Iterator<Item = Part<'_>> {
    list(&results["results"]).iter().map(|value| Part {
        name: value["benchmark"].as_str().unwrap_or_default(),
        question: value["question"].as_str().unwrap_or_default(),
        error: value["error"].as_str(),
        value,
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The value at a JSON pointer in a part of the results. Null if there is no such part or value.
pub fn at<'a>(results: &'a Value, part: &str, pointer: &str) -> &'a Value {
    let found = list(&results["results"]).iter().find(|of| of["benchmark"] == part);
    found.and_then(|part| part.pointer(pointer)).unwrap_or(&Value::Null)
}

/// The first row of a list in a part whose `key` is `wanted`, or null.
pub fn row<'a>(results: &'a Value, part: &str, pointer: &str, key: &str, wanted: impl Into<Value>) -> &'a Value {
    let wanted = wanted.into();
    list(at(results, part, pointer)).iter().find(|row| row[key] == wanted).unwrap_or(&Value::Null)
}

/// A number in the results. NaN if it was not measured.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// A figure and the ends of its interval. All are NaN if the figure was not measured.
pub struct Interval {
    pub figure: f64,
    pub ends: [f64; 2],
}

impl Interval {
    fn of(row: &Value, figure: &str, ends: &str) -> Interval {
        Interval { figure: number(&row[figure]), ends: [0, 1].map(|end| number(&row[ends][end])) }
    }

    /// A figure without an interval, whose ends are the figure itself.
    fn point(figure: f64) -> Interval {
        Interval { figure, ends: [figure; 2] }
    }

    /// Converts the percentage that is saved into the percentage that remains.
    fn of_all(&self) -> Interval {
        let [least, most] = self.ends;
        Interval { figure: 100.0 - self.figure, ends: [100.0 - most, 100.0 - least] }
    }
}

/// A figure that must keep a limit: its subject, the figure, the limit, and the verdict.
pub struct Judged<'a> {
    pub part: &'a str,
    pub what: &'a str,
    pub figure: &'a str,
    pub limit: &'a str,
    pub verdict: &'a str,
}

/// All figures that have a verdict, in the order of the report.
pub fn judged(results: &Value) -> Vec<Judged<'_>> {
    let rows = parts(results).flat_map(|part| list(&part.value["judged"]).iter().map(move |row| (part.name, row)));
    rows.map(|(part, row)| Judged::of(part, row)).collect()
}

impl<'a> Judged<'a> {
    fn of(part: &'a str, row: &'a Value) -> Judged<'a> {
        let text = |field: &str| row[field].as_str().unwrap_or_default();
        Judged { part, what: text("what"), figure: text("figure"), limit: text("limit"), verdict: text("verdict") }
    }
}

impl<'a> Part<'a> {
    /// The tables: the title of each, and its rows of cells. The first row is the head.
    fn tables(&self) -> impl Iterator<Item = (&'a str, Vec<Vec<&'a str>>)> {
        list(&self.value["tables"]).iter().map(|table| {
            let cells = |row: &'a Value| list(row).iter().map(|cell| cell.as_str().unwrap_or_default()).collect();
            (table["title"].as_str().unwrap_or_default(), list(&table["rows"]).iter().map(cells).collect())
        })
    }

    fn notes(&self) -> impl Iterator<Item = &'a str> {
        list(&self.value["notes"]).iter().filter_map(Value::as_str)
    }

    pub fn charts(&self) -> impl Iterator<Item = Chart<'a>> {
        list(&self.value["charts"]).iter().map(|chart| Chart {
            title: chart["title"].as_str().unwrap_or_default(),
            unit: chart["unit"].as_str().unwrap_or_default(),
            is_logarithmic: chart["logarithmic"] == true,
            bars: list(&chart["bars"]).iter().filter_map(Bar::of).collect(),
        })
    }

    /// The counts of this part.
    pub fn counts(&self) -> impl Iterator<Item = (&'a str, f64)> {
        let counts = self.value["counts"].as_object().into_iter().flatten();
        counts.filter_map(|(what, count)| Some((what.as_str(), count.as_f64()?)))
    }
}

pub struct Chart<'a> {
    pub title: &'a str,
    pub unit: &'a str,
    pub is_logarithmic: bool,
    pub bars: Vec<Bar<'a>>,
}

pub struct Bar<'a> {
    pub name: &'a str,
    pub figure: f64,
    pub interval: [f64; 2],
}

impl<'a> Bar<'a> {
    fn of(bar: &'a Value) -> Option<Bar<'a>> {
        let [from, to] = [bar["interval"][0].as_f64()?, bar["interval"][1].as_f64()?];
        Some(Bar { name: bar["name"].as_str()?, figure: bar["figure"].as_f64()?, interval: [from, to] })
    }
}
