//! Counts with callgrind. It executes each loop and simulates caches and a branch predictor.

use std::hint::black_box;
use std::process::{Command, ExitCode};

use super::columns::LOADS;
use super::execution::{Each, each, execute};
use super::sites;
use crate::Result;
use crate::callgrind::events;
use crate::placed::Loop;

/// The function whose events callgrind counts.
#[unsafe(no_mangle)]
#[inline(never)]
fn jumplabel_bench_counted(run: Loop, turns: u64) -> u64 {
    run(turns)
}

/// The address of that function in memory.
pub fn counted_address() -> u64 {
    jumplabel_bench_counted as *const () as u64
}

/// Executes each loop. This runs under callgrind.
pub fn simulated() -> ExitCode {
    let all = || {
        sites::point(true);
        sites::patch()?;
        execute(|_, run, turns| {
            black_box(jumplabel_bench_counted(black_box(run), turns));
            Ok(())
        })
    };
    match all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("jumplabel-bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// Starts this program under callgrind. Returns the events of a turn for each column and load, or an error if there is no callgrind.
pub fn simulate() -> Result<Each> {
    let folder = std::env::temp_dir().join(format!("jumplabel-bench-ops-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let out = folder.join("out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--smc-check=all"])
        .args(["--zero-before=jumplabel_bench_counted", "--dump-after=jumplabel_bench_counted"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["ops", "--simulated"])
        .output();
    let read = output.map_err(Into::into).and_then(|output| {
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        each()
            .enumerate()
            .map(|(number, (column, load))| {
                let text = std::fs::read_to_string(folder.join(format!("out.{}", number + 1)))?;
                Ok((column, load, events(&text, LOADS[load].turns()).ok_or("callgrind's file has no totals")?))
            })
            .collect()
    });
    std::fs::remove_dir_all(&folder)?;
    read
}
