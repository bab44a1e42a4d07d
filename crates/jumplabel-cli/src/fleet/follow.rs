//! `follow`: keeps the keys of this host's processes at the values that etcd has.
//!
//! ```text
//!   a thread of its own    range, then watch from the next revision; again from there if the member is lost
//!        │ State, Events
//!        ▼
//!   this thread            tells the processes what to do, all at once; looks for new processes; reports
//! ```
//!
//! While no member of etcd answers, keys keep their values. A process that starts then still gets the wishes that the follower knows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use jumplabel_agent::directory;

use super::etcd::{Etcd, Event, Pair};
use super::followed::{self, AllFollowed, Birth, File};
use super::member::{Member, side_by_side};
use super::report::Reports;
use super::tally::Tally;
use super::watch::{Told, watch};
use super::{Wish, census, trial};
use crate::failure::Failure;
use crate::report::visible;

/// How often the follower looks for processes that have come or gone.
const LOOK: Duration = Duration::from_secs(1);
/// How often the follower asks the processes for their states if nothing happens.
const REFRESH: Duration = Duration::from_secs(10);

/// The arguments of [`follow`]: the cluster and the prefix to follow, and the name of this host in reports.
pub struct Following {
    pub members: String,
    pub prefix: String,
    pub host: String,
    /// False only in a test, which shows why resuming matters: after a loss, the watch then begins at the present, and misses what happened
    /// meanwhile.
    pub resumes: bool,
}

struct Follower<'out> {
    prefix: String,
    host: String,
    wishes: BTreeMap<String, Wish>,
    members: Vec<Member>,
    /// The processes that have ended, as long as their sockets are still there.
    left: BTreeSet<(Birth, String)>,
    /// The wishes that an earlier follower has carried out, in processes that this one has not met yet.
    known: AllFollowed,
    /// The file of wishes that were carried out. `None` as long as this host has no directory for sockets.
    file: Option<File>,
    etcd: Etcd,
    /// The processes that had not answered at the last look.
    late: BTreeSet<String>,
    revision: i64,
    out: &'out mut dyn Write,
}

/// Follows until this process is ended.
pub fn follow(what: Following, out: &mut dyn Write) -> Result<u8, Failure> {
    let Following { members, prefix, host, resumes } = what;
    let (watched, etcd) = (Etcd::new(&members)?, Etcd::new(&members)?);
    let (sender, told) = channel();
    let place = Wish::watched(&prefix);
    std::thread::spawn(move || watch(watched, &place, resumes, &sender));
    let (wishes, left, known, late) = Default::default();
    let mut follower = Follower {
        prefix,
        host: host.clone(),
        wishes,
        members: Vec::new(),
        left,
        known,
        file: None,
        etcd,
        late,
        revision: 0,
        out,
    };
    let mut reports = Reports::of(host);
    let (mut looked, mut reported, mut has_news) = (Instant::now(), None::<Instant>, true);
    loop {
        let is_news = follower.next(&told)?;
        has_news |= is_news;
        if looked.elapsed() >= LOOK {
            has_news |= follower.look();
            looked = Instant::now();
        }
        // Changes go before a report, because a report asks each process. If a report cannot be written, the next one replaces it.
        let since = reported.map_or(REFRESH, |at| at.elapsed());
        if follower.revision > 0 && ((has_news && (!is_news || since >= LOOK)) || since >= REFRESH) {
            let report = census::take(&follower.members, &follower.wishes, follower.revision);
            has_news = !reports.write(&mut follower.etcd, &follower.prefix, report);
            reported = Some(Instant::now());
        }
    }
}

impl Follower<'_> {
    /// Waits for the watch, and acts on what it tells. Returns whether anything has changed.
    fn next(&mut self, told: &Receiver<Told>) -> Result<bool, Failure> {
        match told.recv_timeout(LOOK) {
            Ok(Told::State(pairs, revision)) => self.state(pairs, revision),
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

    /// Takes over all wishes that etcd has. Withdraws each wish that etcd no longer has.
    fn state(&mut self, mut pairs: Vec<Pair>, revision: i64) {
        self.meet();
        pairs.sort_by_key(|pair| pair.revision);
        let is_there = |key: &String| pairs.iter().any(|pair| pair.key == key.as_bytes());
        // A wish that was withdrawn while nobody followed is only in the states of the processes that have carried it out.
        for member in &self.members {
            for (key, carried) in &member.state().followed.wishes {
                if let Some(wish) = Wish::of(&self.prefix, key, &carried.value, carried.revision) {
                    self.wishes.entry(key.clone()).or_insert(wish);
                }
            }
        }
        let gone: Vec<String> = self.wishes.keys().filter(|key| !is_there(key)).cloned().collect();
        let mut news = Vec::new();
        // Trials are left out, because their authors wait only for hosts that have reported before.
        for pair in pairs.into_iter().filter(|pair| trial::id(&self.prefix, &pair.key).is_none()) {
            let name = String::from_utf8_lossy(&pair.key).into_owned();
            match Wish::read(&self.prefix, &pair.key, &pair.value, pair.revision) {
                Ok(wish) => {
                    let before = self.wishes.insert(name, wish.clone());
                    news.extend((before != Some(wish)).then_some(pair));
                }
                Err(_) => news.push(pair), // `event` says why it cannot be read.
            }
        }
        gone.into_iter().for_each(|key| self.event(Event::Delete(key.into_bytes())));
        news.into_iter().for_each(|pair| self.event(Event::Put(pair)));
        self.revision = revision;
        self.say(&format!("follows {} wishes from revision {revision}", self.wishes.len()));
    }

    fn event(&mut self, event: Event) {
        let start = Instant::now();
        match event {
            Event::Put(Pair { key, value, .. }) if trial::id(&self.prefix, &key).is_some() => {
                let id = trial::id(&self.prefix, &key).unwrap_or_default();
                let place = trial::answers(&self.prefix, &id) + &self.host;
                trial::answer(&mut self.etcd, &place, &value, &self.members);
            }
            Event::Delete(key) if trial::id(&self.prefix, &key).is_some() => {}
            Event::Put(Pair { key, value, revision }) => match Wish::read(&self.prefix, &key, &value, revision) {
                Ok(wish) => {
                    let name = String::from_utf8_lossy(&key).into_owned();
                    self.wishes.insert(name.clone(), wish.clone());
                    let tally = self.tally(&wish, |_| {
                        let (name, wish) = (name.clone(), wish.clone());
                        move |worker| worker.apply(&name, &wish)
                    });
                    let Wish { processes, selector, is, .. } = &wish;
                    let (value, by, time) = (&is.value, &is.by, start.elapsed().as_millis());
                    let (count, others) = (tally.count(), tally.others());
                    self.say(&format!(
                        "revision {revision}: {selector}={value} in {count} processes {processes}, by {by}, {time} ms{others}"
                    ));
                }
                Err(why) => self.say(&format!("revision {revision}: {why}")),
            },
            Event::Delete(key) => {
                let name = String::from_utf8_lossy(&key).into_owned();
                let Some(gone) = self.wishes.remove(&name) else { return };
                let wishes = self.in_order();
                let tally = self.tally(&gone, |member| {
                    let of = wishes.iter().filter(|(_, wish)| wish.is_for(&member.name));
                    let left: Vec<Wish> = of.map(|(_, wish)| wish.clone()).collect();
                    let (name, gone) = (name.clone(), gone.clone());
                    move |worker| worker.withdraw(&name, &gone, &left)
                });
                let (count, others, time) = (tally.asked(), tally.others(), start.elapsed().as_millis());
                self.say(&format!("{} is withdrawn in {count} processes, {time} ms{others}", gone.selector));
            }
        }
    }

    /// Gives a job to each process that the wish is for, and saves the result in the file.
    fn tally<J>(&mut self, wish: &Wish, job: impl Fn(&Member) -> J) -> Tally
    where
        J: FnOnce(&mut super::worker::Worker) -> super::worker::Outcome + Send + 'static,
    {
        let of: Vec<&Member> = self.members.iter().filter(|member| wish.is_for(&member.name)).collect();
        let tally = Tally::of(of.iter().map(|member| member.id()).zip(side_by_side(&of, job)));
        self.late.extend(tally.late.iter().cloned());
        self.save();
        tally
    }

    /// All wishes, in the order of their revisions.
    fn in_order(&self) -> Vec<(String, Wish)> {
        let mut wishes: Vec<_> = self.wishes.iter().map(|(key, wish)| (key.clone(), wish.clone())).collect();
        wishes.sort_by_key(|(_, wish)| wish.revision);
        wishes
    }

    /// Finds processes that have come, and forgets those that have gone. Returns whether the set of processes has changed.
    fn meet(&mut self) -> bool {
        let before = self.members.len();
        let Ok(directory) = directory::default() else { return false };
        let sockets = directory::sockets(&directory).unwrap_or_default();
        let sockets: Vec<_> =
            sockets.into_iter().filter_map(|one| Some((followed::birth(&one.path).ok()?, one))).collect();
        if self.file.is_none() && directory.is_dir() {
            let mut file = File::of(&directory, &self.prefix);
            match file.read() {
                Ok(known) => self.known = known,
                Err(error) => self.say(&format!("what was followed before is not known: {error}")),
            }
            self.file = Some(file);
        }
        let is_gone = |member: &&Member| member.state().is_gone;
        self.left.extend(self.members.iter().filter(is_gone).map(|member| (member.birth, member.id())));
        self.members.retain(|member| {
            let is_it = |(birth, one): &(_, directory::Socket)| {
                one.pid == member.pid && one.name == member.name && *birth == member.birth
            };
            !member.state().is_gone && sockets.iter().any(is_it)
        });
        let mut is_new = false;
        let id = |one: &directory::Socket| format!("{}.{}", one.name, one.pid);
        self.left.retain(|one| sockets.iter().any(|(birth, socket)| *one == (*birth, id(socket))));
        for (birth, socket) in sockets {
            let is_met = self.members.iter().any(|member| member.pid == socket.pid && member.name == socket.name);
            if is_met || self.left.contains(&(birth, id(&socket))) {
                continue;
            }
            match Member::start(socket, birth, &mut self.known) {
                Ok(member) => self.members.push(member),
                Err(error) => self.say(&format!("a process cannot be asked: no thread: {error}")),
            }
            is_new = true;
        }
        is_new || before != self.members.len()
    }

    /// Finds processes that have come or gone, and has each carry out the wishes that did not reach it before. Returns whether anything has changed.
    fn look(&mut self) -> bool {
        let mut is_news = self.meet();
        let wishes = self.in_order();
        let lacks = |member: &Member| wishes.iter().any(|(key, wish)| member.lacks(key, wish));
        let of: Vec<&Member> = self.members.iter().filter(|member| !member.is_late() && lacks(member)).collect();
        let done = side_by_side(&of, |member| {
            let own: Vec<_> = wishes.iter().filter(|(key, wish)| member.lacks(key, wish)).cloned().collect();
            move |worker| own.iter().for_each(|(key, wish)| drop(worker.apply(key, wish)))
        });
        is_news |= !done.is_empty();
        let late: BTreeSet<String> = self.members.iter().filter(|member| member.is_late()).map(Member::id).collect();
        let is_here = |id: &&String| self.members.iter().any(|member| member.id() == **id);
        let lines = self.late.difference(&late).filter(is_here).map(|id| format!("{id} answers again"));
        let more = late.difference(&self.late).map(|id| format!("{id} does not answer: is it stopped?"));
        let lines: Vec<String> = lines.chain(more).collect();
        lines.iter().for_each(|line| self.say(line));
        is_news |= !lines.is_empty();
        self.late = late;
        self.save();
        is_news
    }

    /// Writes the file that the next follower reads.
    fn save(&mut self) {
        let of = |member: &Member| (member.id(), member.state().followed.clone());
        let records: AllFollowed =
            self.members.iter().map(of).filter(|(_, followed)| !followed.wishes.is_empty()).collect();
        if let Some(Err(error)) = self.file.as_mut().map(|file| file.write(records)) {
            self.say(&format!("the next follower will carry out all wishes again: {error}"));
        }
    }
}
