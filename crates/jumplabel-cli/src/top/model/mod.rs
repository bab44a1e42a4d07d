//! The model: what the view shows, and what keys on the keyboard do. It knows no terminal and no socket.
//!
//! ```text
//!   flips     how often something flipped
//!   entry     a key, call or mode: what the agent says of it, what takes a change back
//!   process   entries; what the agent was asked, and how it answers
//!   log       what has happened, a line each
//! ```

mod entry;
mod flips;
mod log;
mod press;
mod process;
#[cfg(test)]
pub mod tests;

use std::time::{Duration, Instant, SystemTime};

use jumplabel_agent::protocol::{Answer, Declared, Request};

pub use entry::Entry;
pub use log::Log;
use process::News;
pub use process::{Process, State};

/// The smallest terminal that the view needs: columns and lines.
pub const LEAST: (u16, u16) = (80, 24);

/// Whether a terminal of this size is large enough for the view.
pub fn fits((width, height): (u16, u16)) -> bool {
    width >= LEAST.0 && height >= LEAST.1
}

/// A moment, by both clocks: the monotonic one, and the wall clock.
#[derive(Clone, Copy)]
pub struct Now {
    pub instant: Instant,
    pub time: SystemTime,
}

impl Now {
    pub fn new() -> Now {
        Now { instant: Instant::now(), time: SystemTime::now() }
    }
}

/// The state of the whole view.
pub struct Model {
    pub processes: Vec<Process>,
    /// How often each process is asked for a list.
    pub every: Duration,
    /// The filter, in lowercase: only names that contain it are shown.
    pub filter: String,
    /// Whether typed letters change the filter.
    pub types: bool,
    pub helps: bool,
    /// Whether the user can see the lines: they were drawn, and the terminal has not become too small since. If not, keys on the keyboard change
    /// nothing.
    is_seen: bool,
    /// Whether a key was pressed, or the lists of all processes were drawn.
    has_begun: bool,
    /// The number of the line under the cursor, among the shown ones. `selected` identifies the entry on that line: process, name and declaration. If
    /// other lines come or go, `selected` decides where the cursor is.
    cursor: usize,
    selected: Option<(usize, String, Declared)>,
    pub log: Log,
    pub message: Option<Message>,
    #[cfg(test)]
    start: Instant,
}

/// A message: the result of the last key on the keyboard, or what has happened since.
pub struct Message {
    pub text: String,
    pub is_trouble: bool,
}

/// A message from the thread of a connection to the model.
pub enum Told {
    /// The connection is there, and can be used.
    Connected,
    Answer(Box<Answer>),
    /// The connection is lost, for this reason. The thread tries to connect again.
    Lost(String),
    /// The process has ended, so that no connection can come back.
    Ended(String),
}

/// An action that the loop must do.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Asks a process.
    Ask(usize, Request),
    /// Draws the whole screen again.
    Redraw,
    End,
}

impl Model {
    pub fn new(targets: &[String], every: Duration, now: Now) -> Model {
        Model {
            processes: targets.iter().map(|target| Process::new(target, now.instant)).collect(),
            every,
            filter: String::new(),
            types: false,
            helps: false,
            is_seen: false,
            has_begun: false,
            cursor: 0,
            selected: None,
            log: Log::default(),
            message: None,
            #[cfg(test)]
            start: now.instant,
        }
    }

    /// The entries that the filter lets through, each with the number of its process.
    pub fn shown(&self) -> Vec<(usize, &Entry)> {
        let entries = self.processes.iter().enumerate();
        let all = entries.flat_map(|(at, process)| process.entries.iter().map(move |entry| (at, entry)));
        all.filter(|(_, entry)| self.filter.is_empty() || entry.row.key.to_lowercase().contains(&self.filter)).collect()
    }

    /// The number of entries, whatever the filter says.
    pub fn number(&self) -> usize {
        self.processes.iter().map(|process| process.entries.len()).sum()
    }

    /// The number of the shown entry under the cursor.
    pub fn cursor(&self, shown: &[(usize, &Entry)]) -> usize {
        self.place(shown).unwrap_or_else(|| self.cursor.min(shown.len().saturating_sub(1)))
    }

    /// The number of the selected line, among the shown ones.
    fn place(&self, shown: &[(usize, &Entry)]) -> Option<usize> {
        let (of, key, at) = self.selected.as_ref()?;
        let is_it =
            |(process, entry): &(usize, &Entry)| of == process && *key == entry.row.key && *at == entry.row.declared;
        shown.iter().position(is_it)
    }

    /// Moves the cursor by some lines.
    fn step(&mut self, lines: isize) {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let cursor = self.cursor(&shown).saturating_add_signed(lines).min(last);
        let selected = shown.get(cursor).map(|(at, entry)| (*at, entry.row.key.clone(), entry.row.declared.clone()));
        (self.cursor, self.selected) = (cursor, selected);
    }

    /// Notes that all was drawn in a terminal of this size. The cursor is on the first line until a key is pressed or the lists of all processes were
    /// drawn. From then on it stays with its entry, wherever that goes.
    pub fn drawn(&mut self, size: (u16, u16)) {
        self.is_seen = fits(size);
        if self.selected.is_none() || !self.has_begun {
            (self.cursor, self.selected) = (0, None);
            self.step(0);
        }
        let is_awaited = |process: &Process| !process.has_listed && !matches!(process.state, State::Ended(_));
        self.has_begun |= !self.processes.iter().any(is_awaited);
    }

    /// Notes the present size of the terminal. If the terminal was too small, its lines count as seen only once they are drawn.
    pub fn resized(&mut self, size: (u16, u16)) {
        self.is_seen &= fits(size);
    }

    /// The actions that are due now, such as asking for the next lists.
    pub fn due(&mut self, now: Now) -> Vec<Action> {
        let every = self.every;
        let processes = self.processes.iter_mut().enumerate();
        processes.filter_map(|(at, process)| Some(Action::Ask(at, process.due(now.instant, every)?))).collect()
    }

    /// Acts on a message from the connection with a process.
    pub fn told(&mut self, at: usize, told: Told, now: Now) -> Vec<Action> {
        let process = &mut self.processes[at];
        match told {
            Told::Connected => {
                let is_back = !process.entries.is_empty();
                let requests = process.connected(now.instant, self.every);
                let name = process.name.clone();
                if is_back {
                    self.note(&name, "is there again", now);
                }
                return requests.into_iter().map(|request| Action::Ask(at, request)).collect();
            }
            Told::Answer(answer) => {
                let news = process.told(*answer, now.instant);
                news.into_iter().for_each(|news| self.show(at, news, now));
            }
            Told::Lost(why) => {
                let (is_new, name) = (process.state == State::Connected, process.name.clone());
                process.lost(State::Lost(why.clone()));
                if is_new {
                    self.trouble(&name, &why, now);
                }
            }
            Told::Ended(why) => {
                let name = process.name.clone();
                process.lost(State::Ended(why.clone()));
                self.trouble(&name, &why, now);
            }
        }
        Vec::new()
    }

    /// Notes that a process is not shown, and why.
    pub fn left_out(&mut self, why: &str, now: Now) {
        self.trouble("left out", why, now);
    }

    /// Notes that a request was not sent, and why.
    pub fn not_asked(&mut self, at: usize, request: &Request, why: &str, now: Now) {
        let name = self.processes[at].name.clone();
        self.processes[at].not_asked(request);
        self.trouble(&name, why, now);
    }

    fn show(&mut self, at: usize, news: News, now: Now) {
        let name = self.processes[at].name.clone();
        match news {
            News::Changed(event) => self.log.changed(self.named(&name), &event),
            News::Found { key, from, to } => {
                let what = format!("{key}  {from} -> {to}  by the program, or by force");
                self.log.add(now.time, self.named(&name), &what);
            }
            News::Done(done) => {
                self.message = Some(Message { text: log::done(&done), is_trouble: false });
            }
            News::Trouble(why) => self.trouble(&name, &why, now),
        }
    }

    /// The name of a process if there are several processes, otherwise nothing.
    fn named<'name>(&self, name: &'name str) -> &'name str {
        if self.processes.len() > 1 { name } else { "" }
    }

    fn note(&mut self, name: &str, what: &str, now: Now) {
        self.message = Some(Message { text: format!("{name} {what}"), is_trouble: false });
        self.log.add(now.time, name, what);
    }

    fn trouble(&mut self, name: &str, why: &str, now: Now) {
        self.message = Some(Message { text: format!("{name}: {why}"), is_trouble: true });
        self.log.add(now.time, name, why);
    }

    /// Says why a key on the keyboard did nothing.
    fn refuse(&mut self, why: String) -> Vec<Action> {
        self.message = Some(Message { text: why, is_trouble: true });
        Vec::new()
    }
}
