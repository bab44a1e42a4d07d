//! Goals of make one after the other, and a table of where the minutes went.

use std::env;
use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Leads commands to the file to which they add their rows.
const ROWS: &str = "JUMPLABEL_STAGE_ROWS";

/// Runs them until one fails.
pub fn run(goals: &[String]) -> Result<()> {
    let rows = env::temp_dir().join(format!("jumplabel-stages-{}", std::process::id()));
    let (start, mut table, mut failed) = (Instant::now(), String::new(), None);
    for goal in goals {
        fs::write(&rows, "")?;
        let stage = Instant::now();
        let make = env::var_os("MAKE").unwrap_or("make".into());
        let status =
            Command::new(make).args(["--no-print-directory", goal]).env(ROWS, &rows).status().context("make")?;
        table += &row("", goal, stage.elapsed());
        table += &fs::read_to_string(&rows)?;
        if !status.success() {
            failed = Some(goal);
            break;
        }
    }
    fs::remove_file(&rows)?;
    print!("{table}{}", row("", "all of it", start.elapsed()));
    match failed {
        Some(goal) => bail!("make {goal} failed"),
        None => Ok(()),
    }
}

/// Adds a row to the table of the stage in which this runs, if it runs in one.
pub fn add(what: &str, took: Duration) -> Result<()> {
    let Some(rows) = env::var_os(ROWS).map(PathBuf::from) else { return Ok(()) };
    let mut file = OpenOptions::new().append(true).open(rows)?;
    Ok(file.write_all(row("  ", what, took).as_bytes())?)
}

fn row(indent: &str, what: &str, took: Duration) -> String {
    let (what, seconds) = (format!("{indent}{what}"), took.as_secs());
    let mut row = String::new();
    let _ = writeln!(row, "{what:<40} {:>3} min {:>2} s", seconds / 60, seconds % 60);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        assert_eq!(row("", "lint", Duration::from_secs(75)), format!("lint{} 1 min 15 s\n", " ".repeat(38)));
        assert!(row("  ", "capi", Duration::from_millis(999)).starts_with("  capi "));
    }
}
