//! `machines`: the table of machines in docs/benchmarks.md. The table has one line for each complete run in runs/*.json.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::report::figure;
use crate::suite::{at, number, row};
use crate::{Result, suite};

/// The lines before and after the table in the document.
const BEGIN: &str = "<!-- by `cargo run -p jumplabel-bench -- machines` -->\n";
const END: &str = "<!-- to here -->";

/// The table of all runs in a directory, as Markdown. If there is no run, a sentence that says so.
pub fn table(runs: &Path) -> Result<String> {
    let entries = fs::read_dir(runs).map_err(|error| format!("{}: {error}", runs.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort_unstable();
    if files.is_empty() {
        return Ok("No run is kept yet.\n".to_owned());
    }
    let mut text = format!("| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len()));
    for file in files {
        let results = suite::read(&file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        text += &format!("| {} |\n", line(&name, &results).join(" | "));
    }
    Ok(text)
}

const HEAD: [&str; 8] = [
    "run",
    "machine",
    "length",
    "warm site, of a constant",
    "cold, ns: site; relaxed load",
    "flips of 1; 100; 10,000 sites, us, another thread executes them",
    "`static-keys` / ours, 10,000 sites",
    "1,000,000 sites, ms",
];

fn line(name: &str, results: &Value) -> [String; 8] {
    let machine = &results["machine"];
    let text = |field: &str| machine[field].as_str().unwrap_or("?");
    let cold = |check: &str| figure(number(&row(results, "site", "/cold/checks", "check", check)["ns"]), 1);
    let by_sites =
        |part: &str, list: &str, sites: u64, wanted: &str| number(&row(results, part, list, "sites", sites)[wanted]);
    let flips = |sites: u64| {
        let rows = at(results, "flips", "/latency").as_array().into_iter().flatten();
        let found = rows.into_iter().find(|row| row["sites"] == sites && row["variant"] == "automatic");
        figure(found.map_or(f64::NAN, |row| number(&row["p10_us"])), 1)
    };
    [
        name.to_owned(),
        format!("{}, {}, Linux {}, {} processors", text("arch"), text("cpu"), text("kernel"), machine["cpus"]),
        if results["quick"] == true { "short (`--quick`)" } else { "whole" }.to_owned(),
        figure(number(at(results, "site", "/targets/0/target/figure")), 3),
        format!("{}; {}", cold("site, off (nop)"), cold("relaxed load")),
        [1, 100, 10_000].map(flips).join("; "),
        figure(by_sites("peers", "/flips", 10_000, "static_keys_over_ours"), 0),
        figure(by_sites("scaling", "/sites", 1_000_000, "p50_us") / 1e3, 1),
    ]
}

/// The document with `table` in place of its table.
pub fn written(document: &str, table: &str) -> Result<String> {
    let (before, rest) = document.split_once(BEGIN).ok_or("the document has no place for a table of machines")?;
    let (_, after) = rest.split_once(END).ok_or("the document's table of machines does not end")?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

/// Returns the table. If `keep` names a run, first stores that run under `name` and writes the table into the document.
pub fn run(keep: Option<&Path>, name: &str) -> Result<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (runs, document) = (here.join("runs"), here.join("../../docs/benchmarks.md"));
    if let Some(results) = keep {
        if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
            return Err(format!("`{name}` is no name for a run: letters, numbers and hyphens, please (--name)").into());
        }
        let results = suite::read(results)?;
        let failed: Vec<_> =
            suite::parts(&results).filter_map(|part| part.error.map(|_| part.name.to_owned())).collect();
        if !failed.is_empty() {
            return Err(format!("not kept: it has no figures of {}", failed.join(", ")).into());
        }
        fs::create_dir_all(&runs)?;
        fs::write(runs.join(format!("{name}.json")), format!("{results}\n"))?;
    }
    let table = table(&runs)?;
    if keep.is_some() {
        fs::write(&document, written(&fs::read_to_string(&document)?, &table)?)?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that the stored runs can be read, are complete, and are in the document.
    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn document() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let document = fs::read_to_string(here.join("../../docs/benchmarks.md")).unwrap();
        let table = table(&here.join("runs")).unwrap();
        let is_in_it = written(&document, &table).unwrap() == document;
        assert!(is_in_it, "docs/benchmarks.md has another table than `cargo run -p jumplabel-bench -- machines`");
        assert!(written(&document, "another\n").unwrap() != document);
        for file in fs::read_dir(here.join("runs")).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let results = suite::read(&file).unwrap();
            assert!(suite::parts(&results).count() > 15 && suite::parts(&results).all(|part| part.error.is_none()));
        }
    }

    #[test]
    fn lines() {
        let results = serde_json::json!({
            "version": 1, "quick": true, "machine": { "arch": "x86_64", "cpu": "a", "kernel": "6.1", "cpus": 2 },
            "results": [
                { "benchmark": "site", "targets": [{ "target": { "figure": 1.0 } }],
                  "cold": { "checks": [{ "check": "relaxed load", "ns": 5.55 }] } },
                { "benchmark": "scaling", "sites": [{ "sites": 1_000_000, "p50_us": 31_000.0 }] },
            ],
        });
        let expected = [
            "one",
            "x86_64, a, Linux 6.1, 2 processors",
            "short (`--quick`)",
            "1.000",
            "-; 5.5",
            "-; -; -",
            "-",
            "31.0",
        ];
        let line = line("one", &results);
        assert_eq!(line[..4], expected[..4].iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>()[..]);
        assert!(line[4].starts_with("-; 5.5") || line[4].starts_with("-; 5.6"), "{line:?}");
        assert_eq!(line[5..], expected[5..].iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>()[..]);
    }
}
