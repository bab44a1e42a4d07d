//! The environment variable `JUMPLABEL`, which sets keys when a program starts.

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

/// Sets keys and modes as the environment variable `JUMPLABEL` says. Then starts an agent if the variable `JUMPLABEL_AGENT` asks for one
/// ([`Options::from_words`](crate::Options::from_words)). Call this in programs that do not use [`startup!`](crate::startup!).
///
/// Each selector is one flip of everything that it chooses, all or nothing. Each failure is one line on standard error, and the program goes on. Keys
/// of objects that are loaded later are not set. A mode is found only if some code of the program sets that mode. If a process runs with more rights
/// than its user (`AT_SECURE`: setuid, file capabilities), the variables are ignored. The value `help` ends the process by `_exit`, so nothing else
/// of the program runs.
///
/// A program and each of its shared libraries may call this. A later call sets only keys and modes that no earlier call has seen; it does not repeat
/// messages, and it uses the variables as the first call has read them. A call does nothing if another call is running, for example if a function
/// that is called after these flips calls it.
///
/// Costs a look at the environment if the variable is not set; otherwise the flips, and one list of all keys for each selector. Do not call this in
/// signal handlers. No other thread may change the environment meanwhile, except by the standard library. A child of a fork has the keys of its
/// parent.
pub extern "C" fn startup() {
    with_no_remote(&[]);
}

/// Does what [`startup`] does. In addition, forbids the agent to change anything that these selectors choose.
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

/// What the calls of [`startup`] know of earlier calls.
struct Earlier {
    /// The value of the variable `JUMPLABEL`.
    keys: Option<String>,
    /// Whether the present call is the first one.
    is_first: bool,
    /// The addresses of the keys, calls and modes that earlier calls have seen, sorted.
    seen: Vec<usize>,
}

impl Earlier {
    /// Does what the variable `JUMPLABEL` says, with all keys and modes that earlier calls have not seen.
    fn set(&mut self) {
        let Some(value) = &self.keys else { return };
        set(value, self);
        // If the subjects cannot be listed now, `set` could not list them either, and has set nothing.
        let all = Subject::all().unwrap_or_default();
        self.seen = all.iter().map(|subject| subject.address).collect();
        self.seen.sort_unstable();
    }
}

/// Does what `value`, the value of the variable `JUMPLABEL`, says.
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

/// Reads a regular file of at most 1 MiB.
fn read(path: &str) -> io::Result<Vec<u8>> {
    const LONGEST: u64 = 1 << 20;
    let mut text = Vec::new();
    system::open(path)?.take(LONGEST + 1).read_to_end(&mut text)?;
    match text.len() as u64 {
        ..=LONGEST => Ok(text),
        _ => Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB: nothing of it is done")),
    }
}

/// The error for a file that is not regular: a pipe, a device or a directory. A read of such a file could wait for a writer.
fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file: nothing of it is done")
}

/// Carries out one item of the variable or of a file; an empty item does nothing. If that fails, writes a message that begins with `place`.
fn apply(place: &str, item: &str, earlier: &Earlier) {
    let item = item.trim();
    if item.is_empty() {
        return;
    }
    if let Err(error) = try_apply(item, earlier) {
        // A message that begins with a backquote comes from the parser, and quotes the item already.
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

/// Prints all keys, static calls and modes in the format of the tool's lists.
fn help() -> io::Result<()> {
    let all = Subject::all().map_err(io::Error::other)?;
    let row = |subject: &Subject| {
        [subject.name.clone(), subject.state(), subject.sites.to_string(), format!("{}:{}", subject.file, subject.line)]
    };
    let head = ["KEY", "STATE", "SITES", "DECLARED"].map(str::to_owned);
    // The static calls of tracepoints are left out, as in the tool's lists.
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
