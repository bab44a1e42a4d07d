//! The guard, which is this process, starts a second process, the worker, and watches it. The worker makes the change. If somebody kills the worker
//! in the middle, the guard makes sites and counts agree. If somebody kills the guard, or its terminal goes, the worker finishes the change.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use super::Pid;
use crate::arguments::Set;
use crate::failure::Failure;

/// Starts a worker with the same command line, and returns its exit code.
pub fn run(pid: Pid, what: &Set) -> Result<u8, Failure> {
    let mut worker = Command::new("/proc/self/exe");
    worker.args(["set", "--force", "--worker"]);
    worker.args(what.json.then_some("--json"));
    worker.args(what.dies.map(|writes| format!("--dies={writes}")));
    worker.args(what.runs.then_some("--runs"));
    worker.arg("--").arg(&what.target).args(what.selectors.iter().map(ToString::to_string));
    // The worker has a process group of its own, so that a signal of the terminal that ends the guard does not end the worker.
    let status = worker.stdin(Stdio::null()).process_group(0).status();
    let status = status.map_err(|error| Failure::OutOfReach(format!("{pid}: no second process: {error}")))?;
    if let Some(code) = status.code() {
        return Ok(code.try_into().unwrap_or(2));
    }
    let signal = status.signal().unwrap_or_default();
    super::repair(pid)?;
    Err(Failure::Refused(format!(
        "{pid}: signal {signal} ended the change on its way; sites and counts agree, but some keys may be set and others not: `list --force` says it"
    )))
}
