//! A second process makes the change, and this one watches it. If the second is killed in the middle, this one makes sites and counts
//! agree. If this one is killed, or the terminal goes, the second finishes.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use super::Pid;
use crate::arguments::Set;
use crate::failure::Failure;

/// Has the worker do what the command line says, and returns its exit code.
pub fn run(pid: Pid, what: &Set) -> Result<u8, Failure> {
    let mut worker = Command::new("/proc/self/exe");
    worker.args(["set", "--force", "--worker"]);
    worker.args(what.json.then_some("--json"));
    worker.args(what.dies.map(|writes| format!("--dies={writes}")));
    worker.args(what.runs.then_some("--runs"));
    worker.arg("--").arg(&what.target).args(what.selectors.iter().map(ToString::to_string));
    // What ends this one from a terminal does not end that one.
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
