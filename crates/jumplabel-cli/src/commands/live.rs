//! The commands on a process. The process's agent does the work. With `--force`, the tool itself lists and checks keys. It also changes keys itself
//! if there is no agent.

use std::borrow::Cow;
use std::io::Write;

use jumplabel_agent::protocol::{Answer, Changed, Done, Happened, Peer, Request, Row, split_items};

use jumplabel_agent::tracepoints::{self, Part};
use jumplabel_selector::Selector;

use crate::arguments;
use crate::failure::{DONE, Failure, unwritten};
use crate::force;
use crate::portions;
use crate::process::Process;
use crate::report::{Report, Side, time, visible};

pub fn list(what: &arguments::List, report: &mut Report) -> Result<u8, Failure> {
    let answer = if what.force {
        force::list(&what.target, &what.selectors)?
    } else {
        Process::find(&what.target)?.ask(&Request::List(what.selectors.clone()))?
    };
    let code = said(&answer, report);
    if what.json && code == DONE {
        report.json(&answer);
    } else if let Some(mut rows) = answer.keys.filter(|rows| !rows.is_empty()) {
        if what.selectors.is_empty() {
            leave_out_calls(&mut rows);
        }
        let [left, right] = [Side::Left, Side::Right];
        let heading = [("KEY", left), ("STATE", left), ("COUNT", right), ("SITES", right), ("NOTE", left)];
        report.columns(heading, rows.into_iter().map(columns).collect());
    }
    Ok(code)
}

/// Removes the static calls of tracepoints, which are listed only if a selector chooses them, and in JSON.
pub fn leave_out_calls(rows: &mut Vec<Row>) {
    fn of(row: &Row) -> tracepoints::Row<'_> {
        let place = (&*row.declared.file, row.declared.line, row.declared.column);
        tracepoints::Row { name: &row.key, kind: &row.kind, place }
    }
    let mut parts = tracepoints::parts(rows.iter().map(of)).into_iter();
    rows.retain(|_| parts.next() != Some(Part::Call));
}

fn columns(row: Row) -> [Cow<'static, str>; 5] {
    let count = row.count.map_or("-".to_owned(), |count| count.to_string());
    let since = row.since.map(|since| format!("since {} {}", long(since.seconds), who(since.by)));
    let (what, when) = notes(&row);
    let notes: Vec<_> = what.into_iter().chain(since).chain(when).collect();
    let note = if notes.is_empty() { "-".to_owned() } else { notes.join(", ") };
    let state = if row.differing > 0 { "MIXED".to_owned() } else { row.state };
    [row.key, state, count, row.sites.to_string(), note].map(Cow::Owned)
}

/// The notes on a row, and separately the note about when the agent takes the last change back. The note about who made that change is not included.
pub fn notes(row: &Row) -> (Vec<String>, Option<String>) {
    let (mixed, sites) = (row.differing > 0, row.sites);
    let verb = if row.differing == 1 { "differs" } else { "differ" };
    // A tracepoint that is on and has probes, or is off and has none, needs no note.
    let probes = match row.probes {
        Some(0) if row.state == "on" => Some("no probe".to_owned()),
        Some(number @ 1..) if row.state == "off" => {
            Some(format!("{number} probe{} unheard", if number == 1 { "" } else { "s" }))
        }
        _ => None,
    };
    let notes = [
        mixed.then(|| format!("{} of {sites} sites {verb} from the table", row.differing)),
        (row.loading > 0)
            .then(|| format!("{} of {sites} sites {}", row.loading, if row.loading == 1 { "loads" } else { "load" })),
        row.no_remote.then(|| "not from outside".to_owned()),
        probes,
        row.note.clone(),
    ];
    let notes = notes.into_iter().flatten().collect();
    (notes, row.reverts_in.map(|seconds| format!("back in {seconds} s")))
}

/// The words that say who has asked for a change.
pub fn who(by: Option<Peer>) -> String {
    by.map_or("by itself".to_owned(), |peer| format!("by {peer}"))
}

/// A duration as text, in its two largest units.
pub fn long(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes @ 1..60, seconds) => format!("{minutes}m{seconds:02}s"),
        (minutes @ 60..1440, _) => format!("{}h{:02}m", minutes / 60, minutes % 60),
        (minutes, _) => format!("{}d{:02}h", minutes / 1440, minutes / 60 % 24),
    }
}

/// A number with its noun, in the singular or the plural.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The words that say how many sites and pages a transaction has changed, and how long that took.
pub fn cost(done: &Done) -> String {
    // The sum saturates: the peer may be no agent, and send any number.
    let sites = done.changes.iter().fold(0, |sites: usize, change| sites.saturating_add(change.sites));
    format!("{} in {}, {} us", count(sites, "site"), count(done.pages, "page"), done.nanoseconds.div_ceil(1000))
}

pub fn check(what: &arguments::Check, report: &mut Report) -> Result<u8, Failure> {
    if what.repair {
        let answer = verified(what)?;
        if answer.status != DONE {
            return Ok(said(&answer, report));
        }
        let sites = answer.verified.unwrap_or_default().sites;
        report.line(&format_args!("{} repaired", count(sites, "site")));
    }
    let answer = if what.force {
        force::check(&what.target, &what.selectors)?
    } else {
        Process::find(&what.target)?.ask(&Request::Check(what.selectors.clone()))?
    };
    answer.differences.iter().flatten().for_each(|sentence| report.line(sentence));
    Ok(said(&answer, report))
}

/// Has the agent repair sites. With `--force` and no agent, repairs them from outside, as `set` does.
fn verified(what: &arguments::Check) -> Result<Answer, Failure> {
    let target = &what.target;
    let selectors = what.selectors.iter().map(|selector| Selector { assignment: None, ..selector.clone() });
    let selectors: Vec<_> = selectors.collect();
    let agent = if what.force { force::agent(target)? } else { None };
    match agent {
        None if what.force => force::verify(target, &selectors),
        None => Process::find(target)?.ask(&Request::Verify(selectors)),
        Some(path) => Process::at(target, &path)?.ask(&Request::Verify(selectors)),
    }
}

pub fn set(what: &arguments::Set, report: &mut Report) -> Result<u8, Failure> {
    let arguments::Set { target, selectors, seconds, dry_run, json, force, .. } = what;
    let agent = if *force && !what.worker { force::agent(target)? } else { None };
    let force = *force && agent.is_none();
    if force && !what.worker && !dry_run {
        return force::guarded(what);
    }
    let answer = if force {
        force::set(what)?
    } else {
        let request = Request::Set { items: selectors.clone(), seconds: *seconds, dry_run: *dry_run };
        let mut process = agent.map_or_else(|| Process::find(target), |path| Process::at(target, &path))?;
        process.ask(&request)?
    };
    let code = said(&answer, report);
    if *json && code == DONE {
        report.json(&answer);
    } else if let Some(done) = answer.set {
        show(target, what.force, done, report);
    }
    Ok(code)
}

fn show(target: &str, force: bool, done: Done, report: &mut Report) {
    let by_itself = done.reverts_in.map_or(String::new(), |seconds| format!("   (by itself in {seconds} s)"));
    if done.changes.is_empty() {
        report.line(&format_args!("nothing to change{by_itself}"));
        done.notes.iter().for_each(|note| report.line(&format_args!("note: {note}")));
        return;
    }
    let cost = cost(&done);
    let rows = done
        .changes
        .into_iter()
        .map(|change| [change.key, change.from, change.to, change.sites.to_string()].map(Cow::Owned));
    let heading = [("KEY", Side::Left), ("FROM", Side::Left), ("TO", Side::Left), ("SITES", Side::Right)];
    report.columns(heading, rows.collect());
    if !done.dry_run {
        report.line(&cost);
    }
    for note in &done.notes {
        report.line(&format_args!("note: {note}"));
    }
    let force = force.then_some("--force");
    // The peer may be no agent, and send any text.
    let undo = split_items(&done.undo).unwrap_or_else(|_| vec![done.undo.clone()]);
    let what = if done.dry_run { "nothing was changed; the undo would be" } else { "undo" };
    for items in portions::of(undo) {
        let items = items.iter().map(String::as_str);
        let words: Vec<_> = force.into_iter().chain([target]).chain(items).map(quoted).collect();
        report.line(&format_args!("{what}: jumplabel set {}{by_itself}", words.join(" ")));
    }
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+=:/@".contains(&byte)) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''")).into()
    }
}

/// Prints changes until the process ends, or nobody reads the output any more.
pub fn watch(what: &arguments::Watch, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut process = Process::find(&what.target)?;
    process.ask(&Request::Watch)?;
    while let Some(answer) = process.event()? {
        let Some(event) = &answer.event else { continue };
        let written = if what.json {
            serde_json::to_writer(&mut *out, &answer).map_err(std::io::Error::from).and_then(|()| out.write_all(b"\n"))
        } else {
            out.write_all(lines(event).as_bytes())
        };
        if let Err(error) = written.and_then(|()| out.flush()) {
            unwritten(Err(error))?;
            break;
        }
    }
    Ok(DONE)
}

/// The lines that describe an event, one for each key.
fn lines(event: &Happened) -> String {
    let when = time(event.time);
    let (who, cost) = (who(event.by), cost(&event.done));
    let back = event.done.reverts_in.map_or(String::new(), |seconds| format!(", back in {seconds} s"));
    let line = |change: &Changed| {
        let (when, what) = (humantime::format_rfc3339_millis(when), visible(&change.key));
        format!("{when}  {what}  {} -> {}  {who}, {cost}{back}\n", visible(&change.from), visible(&change.to))
    };
    event.done.changes.iter().map(line).collect()
}

/// Reports the answer's error, if it has one, and returns the exit code.
fn said(answer: &Answer, report: &mut Report) -> u8 {
    if let Some(why) = &answer.error {
        report.error(why);
    }
    answer.status
}

#[test]
fn hostile_numbers() {
    for time in [f64::NAN, f64::INFINITY, -1.0, 1e300, 1e12, 253_402_300_799.9] {
        let change = Changed { key: "a\u{1b}[2J".into(), from: "\n".into(), to: String::new(), sites: usize::MAX };
        let done = Done { changes: vec![change.clone(), change], nanoseconds: u64::MAX, ..Done::default() };
        let text = lines(&Happened { time, by: None, done });
        assert!(text.lines().count() == 2 && !text.contains('\u{1b}'), "{text}");
    }
    assert_eq!(
        [0, 59, 60, 3599, 3600, 86399, 86400].map(long),
        ["0s", "59s", "1m00s", "59m59s", "1h00m", "23h59m", "1d00h"]
    );
    assert!(long(u64::MAX).ends_with('h'));
}

/// An undo that is too long for one request.
#[test]
fn long_undo() {
    let undo: Vec<_> = (0..1000).map(|number| format!("net.key{number:04}=off")).collect();
    let change = Changed { key: "net.*".into(), from: "off".into(), to: "on".into(), sites: 1 };
    let mut report = Report::default();
    show("@web", false, Done { changes: vec![change], undo: undo.join(","), ..Done::default() }, &mut report);
    let lines: Vec<_> = report.out.lines().filter_map(|line| line.strip_prefix("undo: jumplabel set @web ")).collect();
    assert!(lines.iter().all(|line| line.len() < 4096) && lines.join(" ") == undo.join(" "), "{}", report.out);
}
