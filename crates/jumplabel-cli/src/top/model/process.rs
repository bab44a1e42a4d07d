//! A process of the view: the requests that its agent has not answered yet, and what the agent has said.
//!
//! ```text
//!   connected    hello  watch  list      list ... list      set          answers come in the order of the requests,
//!   the agent    hello  ok     keys      keys     keys      done event   and events whenever something has changed
//! ```

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use jumplabel_agent::protocol::{Answer, Done, Happened, Peer, Request, Row, Since, split_items};
use jumplabel_selector::Selector;

use super::entry::Entry;
use crate::commands::live;
use crate::process::fits::NO_AGENT;

/// An agent that has not answered for this long is shown as silent.
const LATE: Duration = Duration::from_secs(3);

/// A process that the view shows.
pub struct Process {
    /// The name that its agent gives; until that is known, the one on the command line.
    pub name: String,
    pub state: State,
    pub read_only: bool,
    pub entries: Vec<Entry>,
    /// Whether the agent has listed the entries of the process.
    pub has_listed: bool,
    asked: VecDeque<(Asked, Instant)>,
    /// The time at which the process is asked for the next list.
    next: Instant,
    /// Whether the agent sends events.
    watches: bool,
    /// Whether the next event is about a change that was taken back from this view.
    takes_back: bool,
}

/// Whether the process can be asked.
#[derive(PartialEq, Eq)]
pub enum State {
    Connected,
    /// The process cannot be asked, for this reason. The connection may come back.
    Lost(String),
    /// The process cannot be asked, for this reason, and the connection does not come back.
    Ended(String),
}

/// A request that waits for its answer.
enum Asked {
    Hello,
    Watch,
    List,
    Set { takes_back: bool },
}

/// News that the view should show.
#[derive(Debug, PartialEq)]
pub enum News {
    /// A client of the agent has changed something, or the agent has taken a change back because its time was over.
    Changed(Happened),
    /// A state differs from the last list, but not by the agent: the program has changed it, or `set --force` has.
    Found { key: String, from: String, to: String },
    /// The result of a change that this view asked for.
    Done(Done),
    /// The reason why something was not done, or cannot be done.
    Trouble(String),
}

impl Process {
    pub fn new(target: &str, now: Instant) -> Process {
        Process {
            name: target.to_owned(),
            state: State::Lost("not asked yet".to_owned()),
            read_only: false,
            entries: Vec::new(),
            has_listed: false,
            asked: VecDeque::new(),
            next: now,
            watches: false,
            takes_back: false,
        }
    }

    /// Notes a new connection. Returns the first requests for it.
    pub fn connected(&mut self, now: Instant, every: Duration) -> Vec<Request> {
        (self.state, self.watches, self.takes_back) = (State::Connected, false, false);
        self.asked = [Asked::Hello, Asked::Watch, Asked::List].into_iter().map(|asked| (asked, now)).collect();
        self.next = now + every;
        vec![Request::Hello, Request::Watch, Request::List(Vec::new())]
    }

    /// Notes the loss of the connection. The requests that wait for an answer are lost with it.
    pub fn lost(&mut self, state: State) {
        self.state = state;
        self.asked.clear();
    }

    /// The number of seconds for which the agent has not answered, if that is long.
    pub fn late(&self, now: Instant) -> Option<u64> {
        let (_, since) = self.asked.front()?;
        let late = now.saturating_duration_since(*since);
        (late >= LATE).then_some(late.as_secs())
    }

    /// The reason why the process cannot be asked for a change now.
    pub fn is_deaf(&self, now: Instant) -> Option<String> {
        match (&self.state, self.late(now)) {
            (State::Ended(why), _) => Some(why.clone()),
            (State::Lost(why), _) => Some(format!("not connected: {why}")),
            (_, Some(seconds)) => Some(format!("no answer for {seconds} s: is the process stopped?")),
            _ if self.asked.iter().any(|(asked, _)| matches!(asked, Asked::Set { .. })) => {
                Some("the change before has no answer yet".to_owned())
            }
            _ => None,
        }
    }

    /// The request for the next list, if it is due, and all requests before it were answered.
    pub fn due(&mut self, now: Instant, every: Duration) -> Option<Request> {
        let is_due = self.state == State::Connected && self.asked.is_empty() && self.next <= now;
        is_due.then(|| self.list(now, every))
    }

    fn list(&mut self, now: Instant, every: Duration) -> Request {
        self.next = now + every;
        self.asked.push_back((Asked::List, now));
        Request::List(Vec::new())
    }

    /// The requests that set something, and then list everything again. `takes_back` says whether this restores an earlier state.
    pub fn set(&mut self, items: Vec<Selector>, takes_back: bool, now: Instant, every: Duration) -> Vec<Request> {
        self.asked.push_back((Asked::Set { takes_back }, now));
        let set = Request::Set { items, seconds: None, dry_run: false };
        vec![set, self.list(now, every)]
    }

    /// Takes a request back that was not sent after all.
    pub fn not_asked(&mut self, request: &Request) {
        let is_set = matches!(request, Request::Set { .. });
        let is_it = |(asked, _): &(Asked, Instant)| matches!(asked, Asked::Set { .. }) == is_set;
        if let Some(last) = self.asked.iter().rposition(is_it) {
            self.asked.remove(last);
        }
    }

    /// Takes an answer or an event of the agent.
    pub fn told(&mut self, answer: Answer, now: Instant) -> Vec<News> {
        if let Some(event) = answer.event {
            let takes_back = std::mem::take(&mut self.takes_back);
            self.take(&event.done, event.by, takes_back, now);
            return vec![News::Changed(event)];
        }
        let asked = self.asked.pop_front().map(|(asked, _)| asked);
        match (asked, answer.error) {
            (Some(Asked::Watch), Some(why)) => vec![News::Trouble(format!("its changes are not shown: {why}"))],
            (_, Some(why)) => vec![News::Trouble(why)],
            (Some(Asked::Hello), None) => {
                if let Some(hello) = answer.hello {
                    (self.name, self.read_only) = (format!("{}.{}", hello.name, hello.pid), hello.read_only);
                }
                Vec::new()
            }
            (Some(Asked::Watch), None) => {
                self.watches = true;
                Vec::new()
            }
            (Some(Asked::List), None) => match answer.keys {
                Some(rows) => self.listed(rows, now),
                None => vec![News::Trouble(NO_AGENT.to_owned())],
            },
            (Some(Asked::Set { takes_back }), None) => {
                let Some(done) = answer.set else { return vec![News::Trouble(NO_AGENT.to_owned())] };
                if self.watches {
                    // The event comes next, if something has changed.
                    self.takes_back = takes_back && !done.changes.is_empty();
                } else {
                    // It is not known yet who asked. The list that comes next says it.
                    self.take(&done, None, takes_back, now);
                }
                vec![News::Done(done)]
            }
            (None, None) => Vec::new(),
        }
    }

    fn listed(&mut self, mut rows: Vec<Row>, now: Instant) -> Vec<News> {
        live::leave_out_calls(&mut rows);
        self.has_listed = true;
        let mut named: HashMap<String, usize> = HashMap::new();
        rows.iter().for_each(|row| *named.entry(row.key.clone()).or_default() += 1);
        let mut before: HashMap<_, Entry> = std::mem::take(&mut self.entries)
            .into_iter()
            .map(|entry| ((entry.row.key.clone(), entry.row.declared.line, entry.row.declared.column), entry))
            .collect();
        let mut news = Vec::new();
        for row in rows {
            let is_alone = named[&row.key] == 1;
            let known = before.remove(&(row.key.clone(), row.declared.line, row.declared.column));
            self.entries.push(match known.filter(|entry| entry.is(&row)) {
                None => Entry::new(row, is_alone, now),
                Some(mut entry) => {
                    let (key, to) = (row.key.clone(), row.state.clone());
                    let from = entry.update(row, is_alone, now);
                    // If several entries have this name, an event may have told of the change already.
                    news.extend(from.filter(|_| is_alone).map(|from| News::Found { key, from, to }));
                    entry
                }
            });
        }
        news
    }

    /// Notes the changes that the agent has made.
    fn take(&mut self, done: &Done, by: Option<Peer>, takes_back: bool, now: Instant) {
        let since = Since { seconds: 0, by };
        let undo = split_items(&done.undo).unwrap_or_default();
        let mut undo: Vec<Option<Selector>> = undo.iter().map(|item| item.parse().ok()).collect();
        if takes_back || undo.len() != done.changes.len() {
            undo = vec![None; done.changes.len()];
        }
        for (change, undo) in done.changes.iter().zip(undo) {
            let mut named = self.entries.iter_mut().filter(|entry| entry.row.key == change.key);
            // If several entries have this name, the next list says which one has changed.
            if let (Some(entry), None) = (named.next(), named.next()) {
                entry.changed(change, since, undo, now);
                entry.row.reverts_in = done.reverts_in;
            }
        }
    }
}
