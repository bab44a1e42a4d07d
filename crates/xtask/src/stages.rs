//! Runs goals of make one after the other, and prints a table of their times.

use std::env;
use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};

/// The variable that names the file to which commands add their rows.
const ROWS: &str = "JUMPLABEL_STAGE_ROWS";

/// For CI, whose time is limited: the latest time at which a stage may begin, in seconds since 1970. Later stages are left out, and the table says
/// so.
const UNTIL: &str = "JUMPLABEL_STAGES_UNTIL";

/// Runs the goals until one fails.
pub fn run(goals: &[String]) -> Result<()> {
    let until = env::var(UNTIL).ok().and_then(|until| until.parse().ok()).map(Duration::from_secs);
    let rows = env::temp_dir().join(format!("jumplabel-stages-{}", std::process::id()));
    let (start, mut table, mut failed) = (Instant::now(), String::new(), None);
    for goal in goals {
        if is_over(until, SystemTime::now()) {
            let _ = writeln!(table, "{goal:<40} left out: this machine is too slow");
            continue;
        }
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

fn is_over(until: Option<Duration>, now: SystemTime) -> bool {
    until.is_some_and(|until| now.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|now| now > until))
}

/// Adds a row to the table of the present stage. Does nothing outside a stage.
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
    fn time_is_over() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let over = [None, Some(99), Some(100)].map(|until| is_over(until.map(Duration::from_secs), now));
        assert_eq!(over, [false, true, false]);
    }

    #[test]
    fn rows() {
        assert_eq!(row("", "lint", Duration::from_secs(75)), format!("lint{} 1 min 15 s\n", " ".repeat(38)));
        assert!(row("  ", "capi", Duration::from_millis(999)).starts_with("  capi "));
    }
}
