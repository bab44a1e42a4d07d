//! The environment variable `JUMPLABEL`.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel_selector::{Assignment, Selector};

use crate::subject::{Kind, Subject};

/// Sets keys and modes as the environment variable `JUMPLABEL` says; for programs that do not let [`startup!`](crate::startup!) do it. The
/// second call does nothing.
///
/// Of an object that is loaded later nothing is set, and a mode is found if some code of the program sets it. Each selector is one flip of all keys that it chooses, all or nothing; with `+1` and `-1`,
/// and for modes, one of each. What cannot be done is one line on standard error each, and the program goes on. A process that runs with more
/// rights than its user (`AT_SECURE`: setuid, file capabilities) ignores the variable. `help` ends the process by `_exit`, so that nothing else
/// of the program is run.
///
/// Costs a look at the environment if the variable is not set; otherwise that of the flips, and of one list of all keys for each selector. Not for
/// signal handlers. No other thread may change the environment meanwhile, unless by the standard library. A child of a fork has the keys
/// of its parent.
pub extern "C" fn startup() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(value) = std::env::var_os("JUMPLABEL") else { return };
    // SAFETY: no condition.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return;
    }
    let value = value.to_string_lossy();
    if value == "help" {
        let status = i32::from(help().is_err());
        // SAFETY: ends the process. `exit` would run destructors of what was not constructed yet.
        unsafe { libc::_exit(status) };
    }
    match value.strip_prefix('@') {
        None => value.split(',').for_each(|item| apply("", item)),
        Some(path) => match std::fs::read(path) {
            Err(error) => say(&format!("{path}: {error}")),
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
                lines.for_each(|(number, line)| apply(&format!("{path}:{}: ", number + 1), line));
            }
        },
    }
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
    let Selector { what, assignment } = item.parse()?;
    let assignment = assignment.ok_or("say what it is to be: =on, =off, +1, -1, or =NUMBER for a mode")?;
    let (mut chosen, mut unfit) = (Vec::new(), None);
    for subject in Subject::all().map_err(|error| error.to_string())? {
        if !subject.is(&what)? {
            continue;
        }
        match fits(&subject, &assignment) {
            Ok(()) => chosen.push(subject),
            Err(why) => unfit = Some(format!("{} {why}", subject.name)),
        }
    }
    // A pattern may also match what cannot be this.
    if chosen.is_empty() {
        return Err(unfit.unwrap_or_else(|| "nothing matches; JUMPLABEL=help lists what there is".to_owned()));
    }
    set(&chosen, &assignment)
}

/// Whether it can be what it is to be; if not, why.
fn fits(subject: &Subject, assignment: &Assignment) -> Result<(), String> {
    match (&subject.kind, assignment) {
        (Kind::Call(_), _) => {
            Err("is a static call: only the program can lead it elsewhere, by StaticCall::update".to_owned())
        }
        (Kind::Key(_), Assignment::Target(_)) => Err("is a key: it can be =on or =off, +1 or -1".to_owned()),
        (Kind::Key(_), _) => Ok(()),
        (Kind::Mode(_, info), assignment) => match number(assignment) {
            Some(mode) if mode < usize::from(info.arms) => Ok(()),
            _ => Err(format!("is a mode: it can be a number from =0 to ={}", info.arms.saturating_sub(1))),
        },
    }
}

/// The number of a mode.
fn number(assignment: &Assignment) -> Option<usize> {
    match assignment {
        Assignment::Target(target) if target.bytes().all(|byte| byte.is_ascii_digit()) => target.parse().ok(),
        _ => None,
    }
}

fn set(chosen: &[Subject], assignment: &Assignment) -> Result<(), String> {
    if let Assignment::On | Assignment::Off = assignment {
        let on = *assignment == Assignment::On;
        let keys =
            chosen.iter().filter_map(|subject| if let Kind::Key(key) = subject.kind { Some((key, on)) } else { None });
        return jumplabel::set_all(keys).map(drop).map_err(|error| match chosen {
            [subject] => format!("{}: {error}", subject.name),
            _ => format!("none of these {} keys is set: {error}", chosen.len()),
        });
    }
    for subject in chosen {
        let result = match (&subject.kind, assignment) {
            (Kind::Key(key), Assignment::Inc) => key.inc(),
            (Kind::Key(key), _) => key.dec(),
            (Kind::Mode(mode, _), to) => mode.set(number(to).unwrap_or(usize::MAX)),
            (Kind::Call(_), _) => continue, // never chosen
        };
        result.map_err(|error| format!("{}: {error}", subject.name))?;
    }
    Ok(())
}

/// Prints what there is, as the tool does.
fn help() -> io::Result<()> {
    let all = Subject::all().map_err(io::Error::other)?;
    let row = |subject: &Subject| {
        [subject.name.clone(), subject.state(), subject.sites.to_string(), format!("{}:{}", subject.file, subject.line)]
    };
    let head = ["KEY", "STATE", "SITES", "DECLARED"].map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(all.iter().map(row)).collect();
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

/// One line on standard error. If that is closed or full, there is nobody to tell.
fn say(message: &str) {
    let _ = io::stderr().lock().write_all(format!("jumplabel: {}\n", printable(message)).as_bytes());
}

/// Without characters that steer a terminal or end a line.
fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}
