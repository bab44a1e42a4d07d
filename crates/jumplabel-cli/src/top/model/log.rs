//! The log of what has happened: a line for each event, the newest last.

use std::collections::VecDeque;
use std::time::SystemTime;

use jumplabel_agent::protocol::{Done, Happened};

use crate::commands::live::{cost, count, who};
use crate::report::{time, visible};

/// The most lines that the log keeps.
const MOST: usize = 500;

/// The lines of the log, the newest last.
#[derive(Default)]
pub struct Log(VecDeque<String>);

impl Log {
    /// The newest `number` lines, the oldest of them first.
    pub fn last(&self, number: usize) -> impl Iterator<Item = &str> {
        self.0.iter().skip(self.0.len().saturating_sub(number)).map(String::as_str)
    }

    /// Adds a line about a process. The name may be empty.
    pub fn add(&mut self, when: SystemTime, name: &str, what: &str) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        let when = humantime::format_rfc3339_millis(when).to_string();
        let when = when.split_once('T').map_or(&*when, |(_, time)| time.trim_end_matches('Z'));
        let blanks = if name.is_empty() { "" } else { "  " };
        self.0.push_back(visible(&format!("{when}  {name}{blanks}{what}")).into_owned());
    }

    /// Adds a line for each key of an event.
    pub fn changed(&mut self, name: &str, event: &Happened) {
        let back = event.done.reverts_in.map_or(String::new(), |seconds| format!(", back in {seconds} s"));
        let (who, cost) = (who(event.by), cost(&event.done));
        for change in &event.done.changes {
            let what = format!("{}  {} -> {}  {who}, {cost}{back}", change.key, change.from, change.to);
            self.add(time(event.time), name, &what);
        }
    }
}

/// The result of a change, as text.
pub fn done(done: &Done) -> String {
    let mut text = match &done.changes[..] {
        [] => "nothing to change".to_owned(),
        [change] => format!("{} {} -> {}: {}", change.key, change.from, change.to, cost(done)),
        several => format!("{} changed: {}", count(several.len(), "key"), cost(done)),
    };
    done.notes.iter().for_each(|note| text.extend(["; ", note]));
    visible(&text).into_owned()
}
