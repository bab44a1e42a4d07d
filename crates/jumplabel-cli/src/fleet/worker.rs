//! The thread that asks the agent of one process. It waits for the agent's answers as long as the process is there: a request that a
//! stopped process has got is carried out when it goes on, and the answer says what the request has changed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jumplabel_agent::protocol::{self, Answer, LONGEST, Request, Row, split_items};
use jumplabel_selector::{Selector, What};

use super::followed::{Carried, Followed};
use super::{Wish, halves};
use crate::failure::Failure;
use crate::process::{Process, is_alive};

/// What became of a wish in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is so now.
    Done,
    /// The process has no such key.
    Nothing,
    /// Why not.
    Refused(String),
    /// The process has ended.
    Gone,
}

/// What a worker does, in turn.
pub type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// What its follower may know at any time.
#[derive(Default)]
pub struct State {
    pub followed: Followed,
    /// By the key of a wish: why it is not carried out.
    pub failed: BTreeMap<String, String>,
    /// Jobs that are not done.
    pub unfinished: usize,
    /// The process has ended.
    pub is_gone: bool,
}

/// Nobody holds it while an agent is asked.
pub fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks an agent.
pub struct Worker {
    path: PathBuf,
    connection: Option<Process>,
    state: Arc<Mutex<State>>,
}

impl Worker {
    pub fn new(path: PathBuf, state: Arc<Mutex<State>>) -> Worker {
        Worker { path, connection: None, state }
    }

    /// Does one job after the other, until nobody gives it any, or the process has ended.
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

    /// Makes a wish true, unless that was done already.
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
        // What was not reached is tried again.
        if is_reached {
            state.followed.wishes.insert(key.to_owned(), carried);
        }
        outcome
    }

    /// What would become of a wish. A process that lets nobody change anything refuses no value.
    pub fn try_out(&mut self, item: Selector) -> Outcome {
        let request = Request::Set { items: vec![item], seconds: None, dry_run: true };
        match self.answered(&request) {
            Ok((outcome, _)) => outcome,
            Err(_) if lock(&self.state).is_gone => Outcome::Gone,
            Err(why) => Outcome::Refused(why),
        }
    }

    /// Takes a wish back. Each key that has its value gets that of the last wish that is left for it, or the one from before all wishes. A
    /// key with another value was set by somebody else since, and one that a later wish is for has that wish's value.
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
            // Of a mode, it is `1/3`; what a layer has may hold any sign.
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

    /// The keys that a wish is for.
    fn rows(&mut self, wish: &Wish) -> Result<Vec<Row>, String> {
        let Ok(selector) = wish.selector.parse() else { return Ok(Vec::new()) };
        let answer = self.ask(&Request::List(vec![selector])).map_err(|failure| failure.to_string())?;
        Ok(answer.keys.unwrap_or_default())
    }

    /// Sets keys in one change, if a request has room for it, and notes what they were before, unless a wish has changed them before. An
    /// error if the process was not reached.
    fn set(&mut self, items: Vec<Selector>, seconds: Option<u32>) -> Result<Outcome, String> {
        self.set_each(items, seconds, true)
    }

    /// The same, without notes: these are values from before, or of other wishes.
    fn set_back(&mut self, items: Vec<Selector>, seconds: Option<u32>) -> Result<Outcome, String> {
        self.set_each(items, seconds, false)
    }

    fn set_each(&mut self, items: Vec<Selector>, seconds: Option<u32>, notes: bool) -> Result<Outcome, String> {
        for items in portions(items) {
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

    /// What the agent says to a `set`, and what takes it back.
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

    /// An agent drops who has been quiet for long, if others come: then the request goes by a new connection, once.
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

/// Whether a key is the one that an agent has named so.
fn is(what: &What, row: &Row) -> bool {
    let (key, declared) = (&row.key, &row.declared);
    let placed = || format!("{key}@{}:{}:{}", declared.file, declared.line, declared.column);
    matches!(what, What::Name(glob) if glob.matches(key) || glob.matches(&placed()))
}
/// What one request has room for, each, in this order.
fn portions(items: Vec<Selector>) -> Vec<Vec<Selector>> {
    // Beside the items: `set`, a time, the end of the line.
    const ROOM: usize = LONGEST - 100;
    let (mut portions, mut length) = (Vec::<Vec<Selector>>::new(), ROOM);
    for item in items {
        let own = protocol::item(&item.to_string()).len() + 1;
        length += own;
        match portions.last_mut() {
            Some(last) if length <= ROOM => last.push(item),
            _ => {
                length = own;
                portions.push(vec![item]);
            }
        }
    }
    portions
}

#[test]
fn long_requests() {
    let items: Vec<Selector> = (0..1000).map(|number| format!("net.key{number:04}=on").parse().unwrap()).collect();
    let portions = portions(items.clone());
    assert_eq!(portions.concat(), items);
    assert_eq!(portions.len(), 4);
    for items in portions {
        let request = Request::Set { items, seconds: Some(u32::MAX), dry_run: true };
        assert!(request.to_string().len() < LONGEST);
    }
    assert!(self::portions(Vec::new()).is_empty());
}
