//! The environment variable `JUMPLABEL`.

#[cfg_attr(windows, path = "startup/windows.rs")]
#[cfg_attr(not(windows), path = "startup/linux.rs")]
pub mod system;

use std::io::{self, Read, Write};
use std::sync::Mutex;

use jumplabel_selector::Selector;

use crate::change::{self, Refusal};
use crate::line::{printable, say};
use crate::outside::{OUTSIDE, Text};
use crate::subject::Subject;
use crate::tracepoints::Part;

/// Sets keys and modes as the environment variable `JUMPLABEL` says. It is for programs that do not use [`startup!`](crate::startup!).
///
/// A later call sets only what the earlier ones have not seen: a program and each of its shared libraries may have one. It does not repeat messages,
/// and the variables are those of the first call. A call by a function that hears of these changes does nothing.
///
/// It does not set keys of objects that are loaded later, and it finds a mode only if some code of the program sets that mode. Each selector is
/// one flip of all that it chooses, all or nothing. Each failure is one line on standard error, and the program goes on. A process that runs
/// with more rights than its user (`AT_SECURE`: setuid, file capabilities) ignores the variable. `help` ends the process by `_exit`, so nothing
/// else of the program runs. If the variable `JUMPLABEL_AGENT` is set, an agent is started after the keys are set: see
/// [`Options::from_words`](crate::Options::from_words).
///
/// Costs a look at the environment if the variable is not set; otherwise the flips, and one list of all keys for each selector. Not for signal
/// handlers. No other thread may change the environment meanwhile, except by the standard library. A child of a fork has the keys of its
/// parent.
pub extern "C" fn startup() {
    with_no_remote(&[]);
}

/// Like [`startup`]. In addition, an agent lets nobody change what these selectors choose.
pub fn with_no_remote(selectors: &'static [Text]) {
    static EARLIER: Mutex<Option<Earlier>> = Mutex::new(None);
    let Ok(mut earlier) = EARLIER.try_lock() else { return };
    if let Some(earlier) = &mut *earlier {
        earlier.is_first = false;
        system::forbid(selectors);
        return earlier.set();
    }
    OUTSIDE.declare(selectors);
    let variable = |name| std::env::var_os(name).filter(|_| !system::has_more_rights());
    let [keys, agent] = ["JUMPLABEL", "JUMPLABEL_AGENT"].map(variable);
    let keys = keys.map(|value| value.to_string_lossy().into_owned());
    earlier.insert(Earlier { keys, is_first: true, seen: Vec::new() }).set();
    if let Some(value) = agent
        && let Err(error) = system::start(&value.to_string_lossy())
    {
        say(&format!("JUMPLABEL_AGENT: no agent: {error}"));
    }
}

/// What the calls of [`startup`] so far have done.
struct Earlier {
    /// The variable `JUMPLABEL`.
    keys: Option<String>,
    is_first: bool,
    /// The addresses of the keys, calls and modes that there were.
    seen: Vec<usize>,
}

impl Earlier {
    /// Does what the variable `JUMPLABEL` says with all that has come since.
    fn set(&mut self) {
        let Some(value) = &self.keys else { return };
        set(value, self);
        // If they cannot be listed, nothing was set either.
        let all = Subject::all().unwrap_or_default();
        self.seen = all.iter().map(|subject| subject.address).collect();
        self.seen.sort_unstable();
    }
}

/// Does what the variable `JUMPLABEL` says.
fn set(value: &str, earlier: &Earlier) {
    if value == "help" {
        let status = i32::from(help().is_err());
        system::exit(status);
    }
    match value.strip_prefix('@') {
        None => value.split(',').for_each(|item| apply("", item, earlier)),
        Some(path) => match read(path) {
            Err(error) if earlier.is_first => say(&format!("{path}: {error}")),
            Err(_) => {}
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
                lines.for_each(|(number, line)| apply(&format!("{path}:{}: ", number + 1), line, earlier));
            }
        },
    }
}

/// Reads a file of at most 1 MiB.
fn read(path: &str) -> io::Result<Vec<u8>> {
    const LONGEST: u64 = 1 << 20;
    let mut text = Vec::new();
    system::open(path)?.take(LONGEST + 1).read_to_end(&mut text)?;
    match text.len() as u64 {
        ..=LONGEST => Ok(text),
        _ => Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB: nothing of it is done")),
    }
}

/// The error for a pipe, a device or a directory: the program must not wait for a writer.
fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file: nothing of it is done")
}

/// Applies one item; an empty one does nothing. `place` is the item's place, for the message.
fn apply(place: &str, item: &str, earlier: &Earlier) {
    let item = item.trim();
    if item.is_empty() {
        return;
    }
    if let Err(error) = try_apply(item, earlier) {
        // The messages of the grammar begin with a backquote: they quote the item already.
        let quoted = if error.starts_with('`') { String::new() } else { format!("`{item}`: ") };
        say(&format!("{place}{quoted}{error}"));
    }
}

fn try_apply(item: &str, earlier: &Earlier) -> Result<(), String> {
    let item: Selector = match item.parse() {
        Err(_) if !earlier.is_first => return Ok(()),
        parsed => parsed?,
    };
    let mut all = Subject::all().map_err(|error| error.to_string())?;
    all.retain(|subject| earlier.seen.binary_search(&subject.address).is_err());
    if !earlier.is_first && !all.iter().any(|subject| subject.is(&item.what) == Ok(true)) {
        return Ok(());
    }
    change::choose(&all, &[item])
        .and_then(|changes| change::commit(&changes, None, jumplabel::AskedBy::Startup))
        .map(drop)
        .map_err(|refusal| match refusal {
            Refusal::Nothing(_, meant) => format!("nothing matches{meant} JUMPLABEL=help lists what there is"),
            Refusal::Meaningless(why) | Refusal::Forbidden(why) => why,
        })
}

/// Prints all keys and modes, as the tool does.
fn help() -> io::Result<()> {
    let all = Subject::all().map_err(io::Error::other)?;
    let row = |subject: &Subject| {
        [subject.name.clone(), subject.state(), subject.sites.to_string(), format!("{}:{}", subject.file, subject.line)]
    };
    let head = ["KEY", "STATE", "SITES", "DECLARED"].map(str::to_owned);
    // The tool's lists leave these calls out, too.
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
