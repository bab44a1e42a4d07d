//! Makes the page with a report of measurements: the report of `make bench`, if there is one, otherwise one of the kept runs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::pages::Pages;

const MEASURED: &str = "target/report/results.json";
const KEPT: &str = "crates/jumplabel-bench/runs";

/// Adds the page with the report.
pub fn add(sh: &Shell, root: &Path, pages: &mut Pages) -> Result<()> {
    let (results, whose) = match root.join(MEASURED) {
        measured if measured.is_file() => (measured, "of `make bench`, on the machine on which this site was made"),
        _ => (kept(root)?, "of a run that we keep: nobody has run `make bench` where this site was made"),
    };
    println!("the report is {whose}");
    let to = root.join("target/site-report");
    cmd!(sh, "cargo run --quiet -p jumplabel-bench -- report --from {results} --to {to}")
        .quiet()
        .ignore_stdout()
        .run()?;
    let report = fs::read_to_string(to.join("report.html"))?;
    pages.add("report.md", page(&report, whose)?);
    Ok(())
}

/// The path of the first kept run.
fn kept(root: &Path) -> Result<PathBuf> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(root.join(KEPT))? {
        runs.push(entry?.path());
    }
    runs.sort();
    runs.into_iter().find(|run| run.extension().is_some_and(|extension| extension == "json")).context("no run is kept")
}

/// The body of a report as a page of the site. Empty lines are removed, because an empty line ends a block of HTML for mdBook.
fn page(report: &str, whose: &str) -> Result<String> {
    let body = report.split_once("</h1>").context("a report has a title")?.1;
    let body = body.split("</body>").next().unwrap_or_default();
    let lines: Vec<_> = body.lines().map(str::trim_start).filter(|line| !line.is_empty()).collect();
    Ok(format!(
        "# A report\n\nThis is {whose}. [Benchmarks](benchmarks.md) says how each figure is measured.\n\n\
         <div class=\"report\">\n{}\n</div>\n",
        lines.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn of_a_report() {
        let page = page("<html><h1>a</h1>\n<p>b</p>\n\n  <svg>\n</svg></body></html>", "ours").unwrap();
        assert!(page.ends_with("<div class=\"report\">\n<p>b</p>\n<svg>\n</svg>\n</div>\n"), "{page}");
        assert!(super::page("<html>", "ours").is_err());
    }
}
