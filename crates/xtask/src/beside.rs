//! Runs commands in parallel.

use std::fs::File;
use std::io::{Seek, Write, copy, stdout};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The commands that run. Each is a process group of its own, so a signal to this process does not reach them.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Runs commands in parallel. Each has a name for the table of stages. If some fail, all others still run, and the error names those that failed.
/// A command is left out if its start would be later than the limit of [`stages`](crate::stages).
pub fn run(commands: &[(String, String)]) -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let running = RUNNING.lock().expect("nobody panics with it");
            for &group in &*running {
                let _ = kill_process_group(group, Signal::TERM);
            }
            std::process::exit(130); // No other command starts, because the lock is held.
        }
    });

    let (queue, failed) = (Mutex::new(commands.iter()), Mutex::new(Vec::new()));
    let next = || queue.lock().expect("nobody panics with it").next();
    let work = || {
        while let Some((name, command)) = next() {
            let succeeds = one(name, command).unwrap_or_else(|error| {
                eprintln!("{command}: {error:#}");
                false
            });
            if !succeeds {
                failed.lock().expect("nobody panics with it").push(name.as_str());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, |processors| processors.get()) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().expect("nobody panics with it");
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

/// Runs a command and shows its output. Returns false if it failed.
fn one(name: &str, command: &str) -> Result<bool> {
    if crate::stages::leaves_out(name)? {
        writeln!(stdout().lock(), "== left out: {command}")?;
        return Ok(true);
    }
    let start = Instant::now();
    // The output goes to a file, not to a pipe. If the command leaves a process behind, that process may keep a pipe open, and the reader would wait
    // for it.
    let mut log = File::from(memfd_create("log", MemfdFlags::CLOEXEC)?);
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?).process_group(0);
    let (mut child, group) = {
        let mut running = RUNNING.lock().expect("nobody panics with it");
        let child = bash.spawn().context("bash")?;
        let group = Pid::from_child(&child);
        running.push(group);
        (child, group)
    };
    let status = child.wait()?;
    RUNNING.lock().expect("nobody panics with it").retain(|&other| other != group);
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());

    let mut out = stdout().lock();
    writeln!(out, "== {command}")?;
    log.rewind()?;
    copy(&mut log, &mut out)?;
    writeln!(out, "== {} s, status {code}: {command}", start.elapsed().as_secs())?;
    crate::stages::add(name, start.elapsed())?;
    Ok(status.success())
}
