//! Connections with agents. Each has a thread, which reads what the agent says. After a loss, the thread connects again if it can.

use std::fs;
use std::sync::mpsc::{SendError, SyncSender};
use std::thread;
use std::time::Duration;

use super::Input;
use super::model::Told;
use crate::process::Process;

/// The pause after a connection was lost, and after each failed try to connect again.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts the thread that reads what the agent of process `at` says, first from this connection, until the view ends.
pub fn read(at: usize, target: String, process: Process, to: SyncSender<Input>) {
    thread::spawn(move || {
        let _ = follow(at, &target, process, &to);
    });
}

fn follow(at: usize, target: &str, mut process: Process, to: &SyncSender<Input>) -> Result<(), SendError<Input>> {
    let tell = |told: Told| to.send(Input::Told(at, told));
    loop {
        let pid = process.pid();
        let why = match process.asker() {
            Ok(asker) => {
                to.send(Input::Connected(at, asker))?;
                loop {
                    match process.event() {
                        Ok(Some(answer)) => tell(Told::Answer(answer.into()))?,
                        Ok(None) => break "its agent has closed the connection".to_owned(),
                        Err(why) => break without(target, &why.to_string()).to_owned(),
                    }
                }
            }
            Err(why) => without(target, &why.to_string()).to_owned(),
        };
        drop(process); // The agent may serve another client meanwhile.
        let ended = format!("process {pid} has ended");
        let comes_back = target.starts_with('@');
        if has_ended(pid) && !comes_back {
            return tell(Told::Ended(ended));
        }
        let waits = format!("{ended}; another {target} is waited for");
        tell(Told::Lost(if has_ended(pid) { waits.clone() } else { again(&why) }))?;
        process = loop {
            thread::sleep(PAUSE);
            match Process::find(target) {
                Ok(found) => break found,
                Err(_) if has_ended(pid) && !comes_back => return tell(Told::Ended(ended)),
                Err(_) if has_ended(pid) => tell(Told::Lost(waits.clone()))?,
                Err(why) => tell(Told::Lost(again(without(target, &why.to_string()))))?,
            }
        };
    }
}

/// `why` without the name of the target in front.
fn without<'why>(target: &str, why: &'why str) -> &'why str {
    why.strip_prefix(target).and_then(|why| why.strip_prefix(": ")).unwrap_or(why)
}

fn again(why: &str) -> String {
    format!("{why}; tried again each second")
}

/// Whether the process has ended: it is gone, or it is a zombie, which keeps one thread until its parent collects it. False if other threads still
/// run, or if `pid` is 0, because the process's container cannot be seen. A connection can end a moment before its process does.
fn has_ended(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_over = state.rsplit_once(')').is_none_or(|(_, rest)| rest.starts_with(" Z") || rest.starts_with(" X"));
    let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    pid != 0 && is_over && threads <= 1
}
