//! `follow`: the keys of this host's processes are what etcd says.
//!
//! ```text
//!   a thread of its own    range, then watch from the next revision; again from there if the member is lost
//!        │ State, Events
//!        ▼
//!   this thread            applies them to each process that matches; looks for new processes; reports
//! ```
//!
//! A lost server changes nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use jumplabel_agent::directory;

use super::Wish;
use super::etcd::{Ended, Etcd, Event, Pair};
use super::process::Member;
use super::report::{self, Host, Reports, Undo};
use crate::failure::Failure;
use crate::report::visible;

/// How often it looks for processes that have come or gone.
const LOOK: Duration = Duration::from_secs(1);
/// How often it asks the processes if nothing happens.
const REFRESH: Duration = Duration::from_secs(10);
/// The first pause after a lost server, and the longest one.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];
/// So many sentences of what failed are reported.
const FAILED: usize = 10;

/// What the watching thread tells.
enum Told {
    /// All there is, and what this host's last follower has left to take back.
    State(Vec<Pair>, i64, Undo),
    Events(Vec<Event>, i64),
    Lost(String),
}

/// What is followed.
pub struct Following {
    pub members: String,
    pub prefix: String,
    pub host: String,
    /// A program's test of what happens without it: false begins anew where the new watch begins.
    pub resumes: bool,
}

struct Follower<'out> {
    prefix: String,
    wishes: BTreeMap<String, Wish>,
    members: Vec<Member>,
    /// Of processes that were not met yet.
    known: Undo,
    revision: i64,
    out: &'out mut dyn Write,
}

/// Until the process is ended.
pub fn follow(what: Following, out: &mut dyn Write) -> Result<u8, Failure> {
    let Following { members, prefix, host, resumes } = what;
    let (watched, mut etcd) = (Etcd::new(&members)?, Etcd::new(&members)?);
    let (sender, told) = channel();
    let places = [Wish::place(&prefix), report::undo_place(&prefix, &host)];
    std::thread::spawn(move || watch(watched, &places, resumes, &sender));
    let (wishes, known) = Default::default();
    let mut follower = Follower { prefix, wishes, members: Vec::new(), known, revision: 0, out };
    let mut reports = Reports::of(host);
    let (mut looked, mut reported, mut has_news) = (Instant::now(), None::<Instant>, true);
    loop {
        let is_news = follower.next(&told)?;
        has_news |= is_news;
        if looked.elapsed() >= LOOK {
            has_news |= follower.look();
            looked = Instant::now();
        }
        // Changes first; a report asks each process. One that is not written is written the next time.
        let since = reported.map_or(REFRESH, |at| at.elapsed());
        if follower.revision > 0 && ((has_news && (!is_news || since >= LOOK)) || since >= REFRESH) {
            let report = follower.report();
            let are_written = [
                reports.keep(&mut etcd, &follower.prefix, follower.undo()),
                reports.write(&mut etcd, &follower.prefix, report),
            ];
            has_news = are_written != [true; 2];
            reported = Some(Instant::now());
        }
    }
}

/// Tells all that happens, for ever.
fn watch(mut etcd: Etcd, [place, undo]: &[String; 2], resumes: bool, told: &Sender<Told>) {
    let (mut pause, mut next) = (PAUSES[0], None::<i64>);
    loop {
        let ended = match next {
            None => match etcd.range(undo).and_then(|undo| Ok((undo.0, etcd.range(place)?))) {
                Ok((known, (pairs, revision))) => {
                    next = Some(revision + 1);
                    pause = PAUSES[0];
                    let known = known.iter().find(|pair| pair.key == undo.as_bytes());
                    let known = known.and_then(|pair| serde_json::from_slice(&pair.value).ok()).unwrap_or_default();
                    if told.send(Told::State(pairs, revision, known)).is_err() {
                        return;
                    }
                    continue;
                }
                Err(failure) => Ended::Lost(failure.to_string()),
            },
            Some(from) => etcd.watch(place, from, |events, behind| {
                pause = PAUSES[0];
                next = Some(behind);
                let _ = told.send(Told::Events(events, behind - 1));
            }),
        };
        match ended {
            Ended::Quiet => {}
            Ended::Compacted => next = None,
            Ended::Lost(why) => {
                if told.send(Told::Lost(why)).is_err() {
                    return;
                }
                // Not all followers at once.
                std::thread::sleep(pause.mul_f64(0.5 + f64::from(std::process::id() % 100) / 100.0));
                pause = (pause * 2).min(PAUSES[1]);
                etcd.next();
                if let (false, Ok((_, revision))) = (resumes, etcd.range(place)) {
                    next = Some(revision + 1);
                }
            }
        }
    }
}

impl Follower<'_> {
    /// What was told; whether anything has changed.
    fn next(&mut self, told: &Receiver<Told>) -> Result<bool, Failure> {
        match told.recv_timeout(LOOK) {
            Ok(Told::State(pairs, revision, known)) => {
                if self.revision == 0 {
                    self.known = known;
                }
                self.state(pairs, revision);
            }
            Ok(Told::Events(events, revision)) => {
                events.into_iter().for_each(|event| self.event(event));
                self.revision = revision;
            }
            Ok(Told::Lost(why)) => {
                self.say(&format!("lost etcd, nothing changes: {why}"));
                return Ok(false);
            }
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::OutOfReach("the watch has ended".into())),
        }
        Ok(true)
    }

    fn say(&mut self, line: &str) {
        let _ = writeln!(self.out, "{}", visible(line)).and_then(|()| self.out.flush());
    }

    /// All there is: what is not there any more is withdrawn.
    fn state(&mut self, mut pairs: Vec<Pair>, revision: i64) {
        self.look();
        pairs.sort_by_key(|pair| pair.revision);
        let gone: Vec<String> =
            self.wishes.keys().filter(|key| !pairs.iter().any(|pair| pair.key == key.as_bytes())).cloned().collect();
        gone.into_iter().for_each(|key| self.event(Event::Delete(key.into_bytes())));
        // Withdrawn while nobody followed.
        for member in &mut self.members {
            for key in member.undo().into_keys().filter(|key| !pairs.iter().any(|pair| pair.key == key.as_bytes())) {
                member.withdraw(&key, &[]);
            }
        }
        for pair in pairs {
            let name = String::from_utf8_lossy(&pair.key);
            let is_known = self.wishes.get(&*name).is_some_and(|wish| wish.revision == pair.revision);
            if !is_known {
                self.event(Event::Put(pair));
            }
        }
        self.revision = revision;
        self.say(&format!("follows {} wishes from revision {revision}", self.wishes.len()));
    }

    fn event(&mut self, event: Event) {
        let start = Instant::now();
        match event {
            Event::Put(Pair { key, value, revision }) => match Wish::read(&self.prefix, &key, &value, revision) {
                Ok(wish) => {
                    let name = String::from_utf8_lossy(&key).into_owned();
                    let of = self.members.iter_mut().filter(|member| wish.is_for(&member.name));
                    let mut count = 0;
                    for member in of {
                        member.apply(&name, &wish);
                        count += 1;
                    }
                    let Wish { processes, selector, is, .. } = &wish;
                    let (value, by, time) = (&is.value, &is.by, start.elapsed().as_millis());
                    let line = format!(
                        "revision {revision}: {selector}={value} in {count} processes {processes}, by {by}, {time} ms"
                    );
                    self.wishes.insert(name, wish);
                    self.say(&line);
                }
                Err(why) => self.say(&format!("revision {revision}: {why}")),
            },
            Event::Delete(key) => {
                let name = String::from_utf8_lossy(&key).into_owned();
                let Some(gone) = self.wishes.remove(&name) else { return };
                let mut left: Vec<&Wish> = self.wishes.values().collect();
                left.sort_by_key(|wish| wish.revision);
                let mut count = 0;
                for member in self.members.iter_mut().filter(|member| gone.is_for(&member.name)) {
                    let left: Vec<&Wish> = left.iter().copied().filter(|wish| wish.is_for(&member.name)).collect();
                    member.withdraw(&name, &left);
                    count += 1;
                }
                let time = start.elapsed().as_millis();
                self.say(&format!("{} is withdrawn in {count} processes, {time} ms", gone.selector));
            }
        }
    }

    /// Processes that have come are made to follow; those that have gone are forgotten. Whether there are others than before.
    fn look(&mut self) -> bool {
        let before = self.members.len();
        let sockets = directory::default().and_then(|directory| directory::sockets(&directory)).unwrap_or_default();
        let mut is_new = false;
        self.members.retain(|member| {
            member.is_there() && sockets.iter().any(|socket| socket.pid == member.pid && socket.name == member.name)
        });
        let mut wishes: Vec<_> = self.wishes.iter().collect();
        wishes.sort_by_key(|(_, wish)| wish.revision);
        for socket in sockets {
            if self.members.iter().any(|member| member.pid == socket.pid && member.name == socket.name) {
                continue;
            }
            let mut member = Member::of(socket, &mut self.known);
            if !member.is_there() {
                continue;
            }
            for (key, wish) in wishes.iter().filter(|(_, wish)| wish.is_for(&member.name)).copied().collect::<Vec<_>>()
            {
                member.apply(key, wish);
            }
            self.members.push(member);
            is_new = true;
        }
        is_new || before != self.members.len()
    }

    fn undo(&self) -> Undo {
        let all = self.members.iter().map(|member| (member.id(), member.undo()));
        all.filter(|(_, undo)| !undo.is_empty()).collect()
    }

    fn report(&mut self) -> Host {
        let mut host = Host { version: 1, processes: self.members.len(), revision: self.revision, ..Host::default() };
        for member in &mut self.members {
            let of = self.wishes.values().filter(|wish| wish.is_for(&member.name));
            let selectors: Vec<_> = of.filter_map(|wish| wish.selector.parse().ok()).collect();
            if selectors.is_empty() {
                continue;
            }
            match member.list(&selectors) {
                Ok(answer) => {
                    for row in answer.keys.into_iter().flatten() {
                        *host.keys.entry(row.key).or_default().entry(row.state).or_default() += 1;
                    }
                }
                Err(failure) => host.failed.push(format!("process {}: {failure}", member.pid)),
            }
            host.failed.extend(member.failed.values().map(|why| format!("process {}: {why}", member.pid)));
        }
        host.failed.truncate(FAILED);
        host
    }
}
