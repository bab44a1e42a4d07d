//! The environment variable `JUMPLABEL`.

#[cfg_attr(windows, path = "startup/windows.rs")]
#[cfg_attr(not(windows), path = "startup/linux.rs")]
mod system;

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::change::{self, Refusal};
use crate::line::{printable, say};
use crate::outside::{OUTSIDE, Text};
use crate::subject::Subject;
use crate::tracepoints::Part;

/// Sets keys and modes as the environment variable `JUMPLABEL` says; for programs that do not let [`startup!`](crate::startup!) do it. The
/// second call does nothing.
///
/// Of an object that is loaded later nothing is set, and a mode is found if some code of the program sets it. Each selector is one flip of
/// all that it chooses, all or nothing. What cannot be done is one line on standard error each, and the program goes on. A process that
/// runs with more rights than its user (`AT_SECURE`: setuid, file capabilities) ignores the variable. `help` ends the process by `_exit`,
/// so that nothing else of the program is run. If the variable `JUMPLABEL_AGENT` is set, an agent is started then: see
/// [`Options::from_words`](crate::Options::from_words).
///
/// Costs a look at the environment if the variable is not set; otherwise that of the flips, and of one list of all keys for each selector. Not for
/// signal handlers. No other thread may change the environment meanwhile, unless by the standard library. A child of a fork has the keys
/// of its parent.
pub extern "C" fn startup() {
    with_no_remote(&[]);
}

/// The same, and an agent lets nobody change what these choose.
pub fn with_no_remote(selectors: &'static [Text]) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    OUTSIDE.declare(selectors);
    let [keys, agent] = ["JUMPLABEL", "JUMPLABEL_AGENT"].map(std::env::var_os);
    if keys.is_none() && agent.is_none() || system::has_more_rights() {
        return;
    }
    if let Some(value) = keys {
        set(&value.to_string_lossy());
    }
    if let Some(value) = agent
        && let Err(error) = system::start(&value.to_string_lossy())
    {
        say(&format!("JUMPLABEL_AGENT: no agent: {error}"));
    }
}

/// Does what the variable `JUMPLABEL` says.
fn set(value: &str) {
    if value == "help" {
        let status = i32::from(help().is_err());
        system::exit(status);
    }
    match value.strip_prefix('@') {
        None => value.split(',').for_each(|item| apply("", item)),
        Some(path) => match read(path) {
            Err(error) => say(&format!("{path}: {error}")),
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
                lines.for_each(|(number, line)| apply(&format!("{path}:{}: ", number + 1), line));
            }
        },
    }
}

/// A file of a size that such files have.
fn read(path: &str) -> io::Result<Vec<u8>> {
    const LONGEST: u64 = 1 << 20;
    let mut text = Vec::new();
    system::open(path)?.take(LONGEST + 1).read_to_end(&mut text)?;
    match text.len() as u64 {
        ..=LONGEST => Ok(text),
        _ => Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB: nothing of it is done")),
    }
}

/// What is neither a pipe, nor a device, nor a directory: the program must not wait for whoever writes.
fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file: nothing of it is done")
}

/// Does what one item says, if it says something. `place` is where it stands, for the message.
fn apply(place: &str, item: &str) {
    let item = item.trim();
    if item.is_empty() {
        return;
    }
    if let Err(error) = try_apply(item) {
        // The grammar's messages quote the item.
        let quoted = if error.starts_with('`') { String::new() } else { format!("`{item}`: ") };
        say(&format!("{place}{quoted}{error}"));
    }
}

fn try_apply(item: &str) -> Result<(), String> {
    let item = item.parse()?;
    let all = Subject::all().map_err(|error| error.to_string())?;
    change::choose(&all, &[item])
        .and_then(|changes| change::commit(&changes, None, jumplabel::AskedBy::Startup))
        .map(drop)
        .map_err(|refusal| match refusal {
            Refusal::Nothing(_, meant) => format!("nothing matches{meant} JUMPLABEL=help lists what there is"),
            Refusal::Meaningless(why) | Refusal::Forbidden(why) => why,
        })
}

/// Prints what there is, as the tool does.
fn help() -> io::Result<()> {
    let all = Subject::all().map_err(io::Error::other)?;
    let row = |subject: &Subject| {
        [subject.name.clone(), subject.state(), subject.sites.to_string(), format!("{}:{}", subject.file, subject.line)]
    };
    let head = ["KEY", "STATE", "SITES", "DECLARED"].map(str::to_owned);
    // As in a list that the tool prints.
    let listed = all.iter().zip(Subject::parts(&all)).filter(|(_, part)| *part != Part::Call);
    let rows: Vec<_> = [head].into_iter().chain(listed.map(|(subject, _)| row(subject))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (name, state, sites) = (width(0), width(1), width(2));
    let mut text = String::new();
    for [key, is, number, place] in &rows {
        text += &printable(&format!("{key:name$}  {is:state$}  {number:>sites$}  {place}"));
        text.push('\n');
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
