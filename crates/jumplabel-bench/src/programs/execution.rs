//! Runs a program once. The figures come from the kernel, from the processor's counters and from callgrind's simulation.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use perf_event::Builder;
use perf_event::events::{Hardware, Software};

use super::build;
use crate::Result;
use crate::callgrind::{Events, events};

/// The rows of the document's table. If a hardware event gives the figure of a row, the row has this event.
pub const ROWS: [(&str, Option<Hardware>); 11] = [
    ("ns, by the program's clock", None),
    ("task-clock, us", None),
    ("context switches", None),
    ("CPU migrations", None),
    ("page faults", None),
    ("cycles", Some(Hardware::CPU_CYCLES)),
    ("stalled cycles, frontend", Some(Hardware::STALLED_CYCLES_FRONTEND)),
    ("instructions", Some(Hardware::INSTRUCTIONS)),
    ("branches", Some(Hardware::BRANCH_INSTRUCTIONS)),
    ("branch misses", Some(Hardware::BRANCH_MISSES)),
    ("elapsed, us", None),
];
/// The indices of single rows.
pub const OWN_CLOCK: usize = 0;
pub const MIGRATIONS: usize = 3;

/// The result of a run: a figure for each row, and the result of the program's own computation.
pub struct Execution {
    pub rows: [f64; ROWS.len()],
    pub found: String,
}

/// Runs a program. A figure is NaN if it cannot be counted.
pub fn run(program: &Path, words: &[&str]) -> Result<Execution> {
    let mut rows = [f64::NAN; ROWS.len()];
    // Counts in the children of this thread. Only the program runs in them, apart from its start.
    let migrations = Builder::new(Software::CPU_MIGRATIONS).inherit(true).build().ok();
    let mut counters: Vec<_> = ROWS
        .iter()
        .enumerate()
        .filter_map(|(row, (_, event))| Some((row, Builder::new((*event)?).inherit(true).build().ok()?)))
        .chain(migrations.map(|counter| (MIGRATIONS, counter)))
        .collect();
    for (_, counter) in &mut counters {
        counter.enable()?;
    }
    let start = std::time::Instant::now();
    let mut child = Command::new(program).args(words).stdout(Stdio::piped()).spawn()?;
    let mut text = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut text)?;
    let mut status = 0;
    // SAFETY: `rusage` has only numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes only to the two variables. Nobody else waits for the child.
    if unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    rows[10] = start.elapsed().as_nanos() as f64 / 1e3;
    for (row, counter) in &mut counters {
        counter.disable()?;
        rows[*row] = counter.read()? as f64;
    }
    if status != 0 {
        return Err(format!("{} {words:?}: status {status:#x}", program.display()).into());
    }
    let microseconds = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    let (nanoseconds, found) = text.trim().split_once(' ').ok_or("the program prints something else")?;
    rows[0] = nanoseconds.parse()?;
    rows[1] = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    rows[2] = (usage.ru_nvcsw + usage.ru_nivcsw) as f64;
    rows[4] = (usage.ru_minflt + usage.ru_majflt) as f64;
    Ok(Execution { rows, found: found.to_owned() })
}

/// Runs a program under callgrind, which counts only user mode and simulates some events. Returns an error if there is no callgrind.
pub fn simulate(program: &Path, words: &[&str]) -> Result<Events> {
    let out = build::directory().join(format!("callgrind-{}", std::process::id()));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes"]);
    let output = valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(program).args(words).output()?;
    let text = std::fs::read_to_string(&out);
    let _ = std::fs::remove_file(&out);
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    events(&text?, 1).ok_or("callgrind's file has no totals".into())
}
