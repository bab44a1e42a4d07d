//! A key, call, mode or fail point of a process: the last state that its agent gave, its flips, and what takes an operator's change back.

use std::time::Instant;

use jumplabel_agent::protocol::{Changed, Row, Since};
use jumplabel_selector::{Assignment, Selector, literal};

use super::flips::Flips;

/// An entry, which is a line of the view's table.
pub struct Entry {
    pub row: Row,
    /// The time at which the agent gave the row.
    pub at: Instant,
    pub flips: Flips,
    /// Whether nothing else in the process has the same name.
    is_alone: bool,
    undo: Option<Undo>,
}

/// The item that takes back the changes that operators have made.
struct Undo {
    item: Selector,
    /// The state before the changes. Once the state is the same again, there is nothing to take back. `None` if it is not known, because users were
    /// added or removed.
    before: Option<String>,
}

impl Entry {
    /// An entry for a row that appears for the first time. If an operator has set the key before, the view assumes that the key was in its other
    /// state then.
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

    /// Whether the row of a list is this entry's.
    pub fn is(&self, row: &Row) -> bool {
        self.row.key == row.key && self.row.declared == row.declared
    }

    /// Takes the row of a later list. Returns the old state if the state has changed, and no event has told of the change.
    pub fn update(&mut self, row: Row, is_alone: bool, now: Instant) -> Option<String> {
        let before = (row.state != self.row.state).then(|| self.row.state.clone());
        if before.is_some() {
            self.flips.note(now, true);
        }
        if row.since.is_none() {
            // The program itself has set the key since.
            self.undo = None;
        }
        (self.row, self.at, self.is_alone) = (row, now, is_alone);
        before
    }

    /// Takes a change that the agent has made. `since` says who asked for the change. `undo` is the item that takes the change back; it is `None` if
    /// the change itself took an earlier one back.
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

    /// The state without a key's number of users: `on` for `on/2`.
    fn state_of<'text>(&self, text: &'text str) -> &'text str {
        match (&*self.row.kind, text.split_once('/')) {
            ("key" | "tracepoint", Some((state, _))) => state,
            _ => text,
        }
    }

    /// The item that takes back what operators have changed, if they have changed anything.
    pub fn undo(&self) -> Option<&Selector> {
        self.undo.as_ref().map(|undo| &undo.item)
    }

    /// The item that sets the next state: for a key the other one, for a mode the next. If there is none, the error is the end of a sentence.
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
                let item = literal(&self.row.key, "=...");
                return Err(format!("has more than two states: jumplabel set PROCESS '{item}'"));
            }
        };
        item(&self.row, self.is_alone, &next)
    }
}

/// An item that sets only this entry.
fn item(row: &Row, is_alone: bool, value: &str) -> Result<Selector, String> {
    let at = &row.declared;
    let place = if is_alone { String::new() } else { format!("@{}:{}:{}", at.file, at.line, at.column) };
    literal(&format!("{}{place}", row.key), &format!("={value}")).parse()
}
