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

/// The variable with the latest time, in seconds since 1970, at which a stage may begin, or a command that a stage runs in parallel with others. CI
/// sets it, because its time is limited. Stages and commands that would begin later are left out, and the table says so.
const UNTIL: &str = "JUMPLABEL_STAGES_UNTIL";

/// Runs the goals until one fails.
pub fn run(goals: &[String]) -> Result<()> {
    let rows = env::temp_dir().join(format!("jumplabel-stages-{}", std::process::id()));
    fs::write(&rows, "")?;
    let (start, mut table, mut failed) = (Instant::now(), String::new(), None);
    for goal in goals {
        if is_late() {
            table += &left_out("", goal);
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

/// Returns whether it is too late for anything else to begin.
fn is_late() -> bool {
    let until = env::var(UNTIL).ok().and_then(|until| until.parse().ok()).map(Duration::from_secs);
    is_over(until, SystemTime::now())
}

fn is_over(until: Option<Duration>, now: SystemTime) -> bool {
    until.is_some_and(|until| now.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|now| now > until))
}

/// Returns whether it is too late for a command to begin. If so, the command's row in the table of the present stage says that it is left out.
pub fn leaves_out(what: &str) -> Result<bool> {
    let is_late = is_late();
    if is_late {
        write(&left_out("  ", what))?;
    }
    Ok(is_late)
}

/// Adds a row to the table of the present stage. Does nothing outside a stage.
pub fn add(what: &str, took: Duration) -> Result<()> {
    write(&row("  ", what, took))
}

fn write(row: &str) -> Result<()> {
    let Some(rows) = env::var_os(ROWS).map(PathBuf::from) else { return Ok(()) };
    let mut file = OpenOptions::new().append(true).open(rows)?;
    Ok(file.write_all(row.as_bytes())?)
}

fn row(indent: &str, what: &str, took: Duration) -> String {
    let (what, seconds) = (format!("{indent}{what}"), took.as_secs());
    let mut row = String::new();
    let _ = writeln!(row, "{what:<40} {:>3} min {:>2} s", seconds / 60, seconds % 60);
    row
}

fn left_out(indent: &str, what: &str) -> String {
    format!("{:<40} left out: this machine is too slow\n", format!("{indent}{what}"))
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
