//! `trace`: shows events at a process's callsites of the crate `tracing` as they happen.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use jumplabel_agent::protocol::{Request, Traced};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::arguments;
use crate::failure::{DONE, Failure, unwritten};
use crate::process::Process;
use crate::report::{time, visible};

/// An event, as the `tracing` layer in the process describes it. The peer may be no agent, and may send anything.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Record {
    time: f64,
    level: String,
    kind: String,
    target: String,
    name: String,
    file: Option<String>,
    line: Option<u32>,
    thread: Option<String>,
    message: Option<Value>,
    fields: Map<String, Value>,
    /// The number of events of this callsite that were lost since the previous record.
    lost: u32,
}

/// Prints events until the process ends, the time is over, or nobody reads the output any more.
pub fn run(what: &arguments::Trace, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut process = Process::find(&what.target)?;
    let answer = process.ask(&Request::Trace { items: what.selectors.clone(), per_second: what.rate })?;
    if let Some(why) = answer.error {
        return Err(Failure::Nothing(why));
    }
    let end = what.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    while let Some(answer) = process.event_before(end)? {
        let Some(traced) = &answer.traced else { continue };
        let lines = if what.json { json(traced) } else { text(traced) };
        if let Err(error) = out.write_all(lines.as_bytes()).and_then(|()| out.flush()) {
            unwritten(Err(error))?;
            break;
        }
    }
    Ok(DONE)
}

/// A line of JSON for each event, as the process has sent it, and a line with the number of lost events.
fn json(traced: &Traced) -> String {
    let mut lines = String::new();
    for record in &traced.records {
        // JSON may have line ends between its tokens: they are cut out.
        lines.extend(record.get().split(['\n', '\r']));
        lines.push('\n');
    }
    if traced.lost > 0 {
        let _ = writeln!(lines, "{{\"lost\":{}}}", traced.lost);
    }
    lines
}

fn text(traced: &Traced) -> String {
    let mut lines = String::new();
    for record in &traced.records {
        let record: Record = serde_json::from_str(record.get()).unwrap_or_default();
        lines.push_str(&visible(&line(&record)));
        lines.push('\n');
    }
    if traced.lost > 0 {
        let _ = writeln!(lines, "{} lost: more than the limit, or than was read", traced.lost);
    }
    lines
}

/// The line for an event: time, level, thread, target, message, fields, place.
fn line(record: &Record) -> String {
    let mut line = format!("{} {:>5} ", humantime::format_rfc3339_micros(time(record.time)), record.level);
    if let Some(thread) = &record.thread {
        let _ = write!(line, "{thread} ");
    }
    let _ = write!(line, "{}:", record.target);
    if record.kind == "span" {
        let _ = write!(line, " span {}", record.name);
    }
    if let Some(message) = &record.message {
        let _ = write!(line, " {}", plain(message));
    }
    for (name, value) in &record.fields {
        let _ = write!(line, " {name}={}", plain(value));
    }
    if let (Some(file), Some(number)) = (&record.file, record.line) {
        let _ = write!(line, "  {file}:{number}");
    }
    if record.lost > 0 {
        let _ = write!(line, "  ({} lost here before)", record.lost);
    }
    line
}

/// The value as text; a string without its quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[test]
fn lines() {
    let records = [
        r#"{"time":1.5,"level":"INFO","target":"a::b","message":"hello","fields":{"x":1,"y":"two\u001b[2J"},"file":"a.rs","line":3,"lost":5}"#,
        r#"{"time":1e300,"kind":"span","name":"work","target":"a","fields":{}}"#,
        "[1,\n2]",
    ];
    let records = records.map(|text| serde_json::value::RawValue::from_string(text.to_owned()).unwrap()).to_vec();
    let traced = Traced { records, lost: 7 };
    let printed = text(&traced);
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(printed.len(), 4, "{printed:?}");
    assert!(printed[0].starts_with("1970-01-01T00:00:01.500000Z  INFO a::b: hello x=1 y=two"), "{printed:?}");
    assert!(printed[0].ends_with("  a.rs:3  (5 lost here before)") && !printed[0].contains('\u{1b}'), "{printed:?}");
    assert!(printed[1].starts_with("9999-") && printed[1].ends_with("a: span work"), "{printed:?}");
    assert_eq!(printed[3], "7 lost: more than the limit, or than was read");
    assert_eq!(json(&traced).lines().count(), 4);
}
