//! `apply`: changes several processes. Each line of JSON names a process, and what to set there.

use std::io::Write;
use std::path::Path;

use jumplabel_agent::protocol::{Answer, Request};
use jumplabel_selector::Selector;
use serde::{Deserialize, Serialize};

use crate::arguments;
use crate::failure::{DONE, Failure, unwritten};
use crate::input;
use crate::process::Process;
use crate::report::Report;

/// A line of the input: a process, and the changes to make there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    process: String,
    set: Vec<String>,
    #[serde(rename = "for")]
    seconds: Option<u32>,
    #[serde(default)]
    dry_run: bool,
}

/// The line of output that answers one line of the input.
#[derive(Serialize)]
struct Applied<'a> {
    process: &'a str,
    #[serde(flatten)]
    answer: Answer,
}

/// Carries out all lines. Returns the exit code of the first line that failed.
pub fn run(what: &arguments::Apply, report: &mut Report, out: &mut dyn Write) -> Result<u8, Failure> {
    let requests = requests(&text(&what.file)?)?;
    if requests.is_empty() {
        return Err(Failure::Nothing(format!("{}: no lines: nothing is set", what.file)));
    }
    let (mut code, mut written) = (DONE, Ok(()));
    for (process, request) in &requests {
        let asked = Process::find(process).and_then(|mut agent| agent.ask(request));
        let answer = asked.unwrap_or_else(|failure| Answer::error(failure.code(), failure.to_string()));
        code = if code == DONE { answer.status } else { code };
        let mut line = serde_json::to_string(&Applied { process, answer }).unwrap_or_default();
        line.push('\n');
        // Even if nobody reads the output any more, all changes must still be made.
        written = written.and(out.write_all(line.as_bytes()).and_then(|()| out.flush()));
    }
    if code == DONE {
        unwritten(written)?;
    } else if let Err(failure) = unwritten(written) {
        report.error(&failure);
    }
    Ok(code)
}

/// The largest input, in bytes. Lines for 10,000 processes take a tenth of that.
const LONGEST: u64 = 16 << 20;

fn text(file: &str) -> Result<String, Failure> {
    let read = match file {
        "-" => input::read(std::io::stdin(), LONGEST),
        _ => input::open(Path::new(file)).and_then(|(file, _)| input::read(file, LONGEST)),
    };
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    text.map_err(|error| {
        let instead = if file != "-" && !Path::new(file).is_file() { "; `-` reads standard input" } else { "" };
        Failure::OutOfReach(format!("{file}: {error}: nothing is set{instead}"))
    })
}

/// Parses all lines. If some lines make no sense, returns what is wrong with the first of them.
fn requests(text: &str) -> Result<Vec<(String, Request)>, Failure> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let request = |(number, line): (usize, &str)| {
        let refused = |why: String| Failure::Usage(format!("line {}: {why}: nothing is set", number + 1));
        let Wanted { process, set, seconds, dry_run } =
            serde_json::from_str(line).map_err(|error| refused(error.to_string()))?;
        if set.is_empty() || seconds == Some(0) {
            return Err(refused("say what is to change, and for at least a second".to_owned()));
        }
        let items: Result<Vec<Selector>, _> = set.iter().map(|item| item.parse()).collect();
        let items = items.map_err(refused)?;
        if let Some(item) = items.iter().find(|item| item.assignment.is_none()) {
            return Err(refused(format!("`{item}`: say what it is to be: SELECTOR=VALUE")));
        }
        Ok((process, Request::Set { items, seconds, dry_run }))
    };
    lines.map(request).collect()
}
