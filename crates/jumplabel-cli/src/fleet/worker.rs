//! The thread that asks the agent of one process. The thread waits for an answer as long as the process exists. When a stopped process goes on, its
//! agent carries out the requests that have arrived, and the answers say what has changed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jumplabel_agent::protocol::{Answer, Request, Row, split_items};
use jumplabel_selector::{Selector, What};

use super::followed::{Carried, Followed};
use super::{Wish, halves};
use crate::failure::Failure;
use crate::portions;
use crate::process::{Process, is_alive};

/// The result of a wish in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The keys in the process now have the wish's value.
    Done,
    /// The process has no such key.
    Nothing,
    /// The process refused the wish, for this reason.
    Refused(String),
    /// The process has ended.
    Gone,
}

/// A job: a worker does its jobs one after the other.
pub type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// The worker's state, which its follower may read at any time.
#[derive(Default)]
pub struct State {
    pub followed: Followed,
    /// For the key of a wish: the reason why the wish was not carried out.
    pub failed: BTreeMap<String, String>,
    /// The number of jobs that are not done yet.
    pub unfinished: usize,
    /// Whether the process has ended.
    pub is_gone: bool,
}

/// Locks the state. No thread holds this lock while it asks an agent.
pub fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker, which asks one agent.
pub struct Worker {
    path: PathBuf,
    connection: Option<Process>,
    state: Arc<Mutex<State>>,
}

impl Worker {
    pub fn new(path: PathBuf, state: Arc<Mutex<State>>) -> Worker {
        Worker { path, connection: None, state }
    }

    /// Does one job after the other, until nobody can send more, or the process has ended.
    pub fn work(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            job(&mut self);
            let mut state = lock(&self.state);
            state.unfinished -= 1;
            if state.is_gone {
                return;
            }
        }
    }

    /// Carries a wish out, unless that was done already.
    pub fn apply(&mut self, key: &str, wish: &Wish) -> Outcome {
        let carried = Carried { revision: wish.revision, value: wish.is.value.clone() };
        {
            let state = lock(&self.state);
            if state.followed.wishes.get(key) == Some(&carried) {
                return state.failed.get(key).map_or(Outcome::Done, |why| Outcome::Refused(why.clone()));
            }
        }
        let (Ok(item), Ok(seconds)) = (wish.item(), wish.left()) else { return Outcome::Nothing };
        let (outcome, is_reached) = match self.set(vec![item], seconds) {
            Ok(outcome) => (outcome, true),
            Err(why) => (Outcome::Refused(why), false),
        };
        let mut state = lock(&self.state);
        if state.is_gone {
            return Outcome::Gone;
        }
        match &outcome {
            Outcome::Refused(why) => drop(state.failed.insert(key.to_owned(), why.clone())),
            _ => drop(state.failed.remove(key)),
        }
        // If the wish did not reach the process, it is tried again later.
        if is_reached {
            state.followed.wishes.insert(key.to_owned(), carried);
        }
        outcome
    }

    /// Asks the agent whether it would accept the wish, and changes nothing. A read-only agent answers like any other, although it would refuse the
    /// wish itself.
    pub fn try_out(&mut self, item: Selector) -> Outcome {
        let request = Request::Set { items: vec![item], seconds: None, dry_run: true };
        match self.answered(&request) {
            Ok((outcome, _)) => outcome,
            Err(_) if lock(&self.state).is_gone => Outcome::Gone,
            Err(why) => Outcome::Refused(why),
        }
    }

    /// Takes a wish back. Each key that still has the wish's value gets the value of the last wish that is left for it, or the value from before all
    /// wishes. A key with another value stays, because somebody else has set it since, or a later wish has.
    pub fn withdraw(&mut self, key: &str, wish: &Wish, left: &[Wish]) -> Outcome {
        if lock(&self.state).followed.wishes.remove(key).is_none() {
            return Outcome::Nothing;
        }
        lock(&self.state).failed.remove(key);
        match self.try_withdraw(wish, left) {
            Ok(outcome) => outcome,
            Err(_) if lock(&self.state).is_gone => Outcome::Gone,
            Err(why) => {
                lock(&self.state).failed.insert(key.to_owned(), why.clone());
                Outcome::Refused(why)
            }
        }
    }

    fn try_withdraw(&mut self, wish: &Wish, left: &[Wish]) -> Result<Outcome, String> {
        let before = lock(&self.state).followed.before.clone();
        let named =
            before.into_iter().filter_map(|(name, value)| Some((name.parse::<Selector>().ok()?.what, name, value)));
        let rows = self.rows(wish)?;
        let own: Vec<(What, String, String, &Row)> = named
            .filter_map(|(what, name, value)| {
                Some((what.clone(), name, value, rows.iter().find(|row| is(&what, row))?))
            })
            .collect();
        let mut over = vec![None; own.len()];
        for other in left {
            let rows = if own.is_empty() { Vec::new() } else { self.rows(other)? };
            for (place, (what, ..)) in over.iter_mut().zip(&own) {
                if rows.iter().any(|row| is(what, row)) {
                    *place = Some(other);
                }
            }
        }
        let (mut lasting, mut ending) = (Vec::new(), Vec::new());
        for ((_, name, value, row), other) in own.iter().zip(over) {
            // The state of a mode is `1/3`. The state of a layer's key may contain any character.
            let is_own = row.state == wish.is.value || row.state.split('/').next() == Some(&*wish.is.value);
            match other {
                Some(later) if later.revision > wish.revision => continue,
                Some(_) if !is_own => continue,
                Some(other) if other.is.until.is_some() => ending.push((format!("{name}={}", other.is.value), other)),
                Some(other) => lasting.push(format!("{name}={}", other.is.value)),
                None => {
                    lock(&self.state).followed.before.remove(name);
                    lasting.extend(is_own.then(|| format!("{name}={value}")));
                }
            }
        }
        let items: Vec<Selector> = lasting.iter().filter_map(|item| item.parse().ok()).collect();
        let outcome = if items.is_empty() { Outcome::Nothing } else { self.set_back(items, None)? };
        for (item, other) in ending {
            if let (Ok(item), Ok(seconds)) = (item.parse(), other.left()) {
                self.set_back(vec![item], seconds)?;
            }
        }
        Ok(outcome)
    }

    /// The keys in this process that a wish is for.
    fn rows(&mut self, wish: &Wish) -> Result<Vec<Row>, String> {
        let Ok(selector) = wish.selector.parse() else { return Ok(Vec::new()) };
        let answer = self.ask(&Request::List(vec![selector])).map_err(|failure| failure.to_string())?;
        Ok(answer.keys.unwrap_or_default())
    }

    /// Sets keys, in one change if they fit into one request. Notes the value of each key before the change, unless an earlier wish has changed it
    /// already. An error if the process was not reached.
    fn set(&mut self, items: Vec<Selector>, seconds: Option<u32>) -> Result<Outcome, String> {
        self.set_each(items, seconds, true)
    }

    /// Like [`set`](Self::set), but notes no values: the values set here are those of other wishes, or those from before all wishes.
    fn set_back(&mut self, items: Vec<Selector>, seconds: Option<u32>) -> Result<Outcome, String> {
        self.set_each(items, seconds, false)
    }

    fn set_each(&mut self, items: Vec<Selector>, seconds: Option<u32>, notes: bool) -> Result<Outcome, String> {
        for items in portions::of(items) {
            let request = Request::Set { items, seconds, dry_run: false };
            let (outcome, undo) = self.answered(&request)?;
            for item in undo.iter().filter(|_| notes) {
                if let Some((name, value)) = item.parse().ok().as_ref().and_then(halves) {
                    lock(&self.state).followed.before.entry(name).or_insert(value);
                }
            }
            if outcome != Outcome::Done {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Done)
    }

    /// The agent's answer to a `set`, and the items that take the change back.
    fn answered(&mut self, request: &Request) -> Result<(Outcome, Vec<String>), String> {
        match self.ask(request) {
            Ok(Answer { set: Some(done), error: None, .. }) => {
                Ok((Outcome::Done, split_items(&done.undo).unwrap_or_default()))
            }
            Ok(Answer { status: 1, .. }) => Ok((Outcome::Nothing, Vec::new())),
            Ok(answer) => Ok((Outcome::Refused(answer.error.unwrap_or_default()), Vec::new())),
            Err(failure @ Failure::OutOfReach(_)) => Err(failure.to_string()),
            Err(failure) => Ok((Outcome::Refused(failure.to_string()), Vec::new())),
        }
    }

    /// Asks the agent. If the agent has dropped this connection, because it was quiet for long and other clients came, the request goes once more,
    /// over a new connection.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Some(mut connection) = self.connection.take() {
            match connection.ask_patiently(request) {
                Err(Failure::OutOfReach(_)) => {}
                answer => {
                    self.connection = Some(connection);
                    return answer;
                }
            }
        }
        let asked = Process::at(&self.path.to_string_lossy(), &self.path).and_then(|mut connection| {
            let answer = connection.ask_patiently(request);
            self.connection = Some(connection);
            answer
        });
        if let Err(Failure::OutOfReach(_)) = asked {
            self.connection = None;
            lock(&self.state).is_gone = !self.path.exists() || !is_alive(&self.path);
        }
        asked
    }
}

/// Whether a row is the key that an agent has named `what`.
fn is(what: &What, row: &Row) -> bool {
    let (key, declared) = (&row.key, &row.declared);
    let placed = || format!("{key}@{}:{}:{}", declared.file, declared.line, declared.column);
    matches!(what, What::Name(glob) if glob.matches(key) || glob.matches(&placed()))
}
