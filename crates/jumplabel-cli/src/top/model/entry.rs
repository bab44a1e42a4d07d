//! A key, call, mode or fail point of a process: what its agent last said of it, how often it flipped, and what takes an operator's change back.

use std::time::Instant;

use jumplabel_agent::protocol::{Changed, Row, Since};
use jumplabel_selector::{Assignment, Selector, literal};

use super::flips::Flips;

/// A line of the table.
pub struct Entry {
    pub row: Row,
    /// When the agent said that.
    pub at: Instant,
    pub flips: Flips,
    /// Whether nothing else of the process has its name.
    is_alone: bool,
    undo: Option<Undo>,
}

/// What takes back what operators have changed.
struct Undo {
    item: Selector,
    /// What it was before. Once it is so again, there is nothing to take back. Not known of users who were added or removed.
    before: Option<String>,
}

impl Entry {
    /// One that is seen for the first time. Whoever set a key before that had it flipped.
    pub fn new(row: Row, is_alone: bool, now: Instant) -> Entry {
        let is_key = matches!(&*row.kind, "key" | "tracepoint");
        let other = match &*row.state {
            "on" => "off",
            _ => "on",
        };
        let undo = (row.since.is_some() && is_key)
            .then(|| item(&row, is_alone, other).ok())
            .flatten()
            .map(|item| Undo { item, before: Some(other.to_owned()) });
        Entry { row, at: now, flips: Flips::default(), is_alone, undo }
    }

    /// Whether a list means this by a row.
    pub fn is(&self, row: &Row) -> bool {
        self.row.key == row.key && self.row.declared == row.declared
    }

    /// Takes what a later list says. What it was before, if no client of the agent has told that it changed.
    pub fn update(&mut self, row: Row, is_alone: bool, now: Instant) -> Option<String> {
        let before = (row.state != self.row.state).then(|| self.row.state.clone());
        if before.is_some() {
            self.flips.note(now, true);
        }
        if row.since.is_none() {
            // The program has set it itself since.
            self.undo = None;
        }
        (self.row, self.at, self.is_alone) = (row, now, is_alone);
        before
    }

    /// Takes what the agent has changed, who asked, and, unless that took a change back, what would take it back.
    pub fn changed(&mut self, change: &Changed, since: Since, undo: Option<Selector>, now: Instant) {
        let (from, to) = (self.state_of(&change.from), self.state_of(&change.to));
        if from != to {
            self.flips.note(now, false);
        }
        to.clone_into(&mut self.row.state);
        (self.row.since, self.at) = (Some(since), now);
        if let Some(count) = &mut self.row.count {
            let told = change.to.split_once('/').and_then(|(_, users)| users.parse().ok());
            *count = told.unwrap_or(i32::from(to == "on"));
        }
        let is_back = |undo: &Undo| undo.before.as_deref() == Some(to);
        match undo {
            None => self.undo = None,
            Some(_) if self.undo.as_ref().is_some_and(is_back) => self.undo = None,
            Some(item) => {
                let is_exact = !matches!(item.assignment, Some(Assignment::Inc | Assignment::Dec));
                if !is_exact || self.undo.is_none() {
                    let before = is_exact.then(|| from.to_owned());
                    self.undo = Some(Undo { item, before });
                }
            }
        }
    }

    /// Without the users of a key: `on/2`.
    fn state_of<'text>(&self, text: &'text str) -> &'text str {
        match (&*self.row.kind, text.split_once('/')) {
            ("key" | "tracepoint", Some((state, _))) => state,
            _ => text,
        }
    }

    /// What takes back what operators have changed, if they have.
    pub fn undo(&self) -> Option<&Selector> {
        self.undo.as_ref().map(|undo| &undo.item)
    }

    /// What the next state is: of a key the other one, of a mode the next. Why there is none is the end of a sentence.
    pub fn next(&self) -> Result<Selector, String> {
        let next = match (&*self.row.kind, &*self.row.state) {
            ("key" | "tracepoint", "on") => "off".to_owned(),
            ("key" | "tracepoint", _) => "on".to_owned(),
            ("mode", state) => {
                let numbers = state.split_once('/').and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
                let (at, of): (u32, u32) = numbers.ok_or("has no number")?;
                (at.saturating_add(1) % of.max(1)).to_string()
            }
            ("call", _) => return Err("is a static call: only the program can lead it elsewhere".to_owned()),
            _ => {
                let name = literal(&self.row.key);
                return Err(format!("has more than two states: jumplabel set PROCESS '{name}=...'"));
            }
        };
        item(&self.row, self.is_alone, &next)
    }
}

/// An item that sets this alone.
fn item(row: &Row, is_alone: bool, value: &str) -> Result<Selector, String> {
    let at = &row.declared;
    let place = if is_alone { String::new() } else { format!("@{}:{}:{}", at.file, at.line, at.column) };
    format!("{}={value}", literal(&format!("{}{place}", row.key))).parse()
}
