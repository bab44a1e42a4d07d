//! Trials: before `fleet set` puts wishes into etcd, followers try them out. Only the processes know their keys, and which values these can have.
//!
//! ```text
//!   fleet set ──► PREFIX/set?/ID ──watch──► each follower ──dry-run──► its processes
//!       │  ◄───── PREFIX/answer/ID/HOST ◄──────────┘                               all of it under one lease
//!       └──► PREFIX/set/PROCESSES/SELECTOR, if no process has refused it
//! ```

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Wish;
use super::etcd::Etcd;
use super::member::{Member, side_by_side};
use super::report;
use super::tally::Tally;
use crate::failure::Failure;

/// How long a trial waits for the last host.
const PATIENCE: Duration = Duration::from_secs(4);
/// The pauses between two looks at the answers: the first pause, and the longest. Ten thousand answers are a megabyte.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(500)];
/// How long the lease of a trial lasts, in seconds.
const LASTS: u32 = 30;

/// A trial: the wishes that followers try out.
#[derive(Serialize, Deserialize)]
struct Trial {
    /// The lease under which followers put their answers.
    lease: i64,
    items: Vec<Item>,
}

#[derive(Serialize, Deserialize)]
struct Item {
    /// A pattern of the processes' names.
    processes: String,
    /// The text of a selector and a value.
    set: String,
}

/// The identity of a trial, which is the last part of its key. `None` if the key is not a trial's.
pub fn id(prefix: &str, key: &[u8]) -> Option<String> {
    let id = key.strip_prefix(format!("{prefix}/set?/").as_bytes())?;
    Some(String::from_utf8_lossy(id).into_owned())
}

/// The beginning of the keys of all answers to a trial.
pub fn answers(prefix: &str, id: &str) -> String {
    format!("{prefix}/answer/{id}/")
}

/// Has the processes of this host try the wishes of a trial out, and puts a tally for each wish into etcd, at the key `place`.
pub fn answer(etcd: &mut Etcd, place: &str, trial: &[u8], members: &[Member]) {
    let Ok(Trial { lease, items }) = serde_json::from_slice(trial) else { return };
    let tallies: Vec<Tally> = items.iter().map(|item| tried(item, members)).collect();
    // If the answer cannot be put there, the trial's author reports that this host has not answered.
    let _ = etcd.put(place, &serde_json::to_string(&tallies).unwrap_or_default(), Some(lease));
}

fn tried(Item { processes, set }: &Item, members: &[Member]) -> Tally {
    let (glob, Ok(set)) = (jumplabel_selector::Glob::new(processes), set.parse()) else { return Tally::default() };
    let set: jumplabel_selector::Selector = set;
    let of = members.iter().filter(|member| glob.matches(&member.name));
    let (late, of): (Vec<&Member>, Vec<&Member>) = of.partition(|member| member.is_late());
    let answers = side_by_side(&of, |_| {
        let set = set.clone();
        move |worker| worker.try_out(set)
    });
    let late = late.iter().map(|member| (member.id(), None));
    Tally::of(of.iter().map(|member| member.id()).zip(answers).chain(late))
}

/// Has all followers try the wishes out. Returns a tally for each wish, and the hosts that have reported before but did not answer now.
pub fn ask(etcd: &mut Etcd, prefix: &str, wishes: &[Wish]) -> Result<(Vec<Tally>, BTreeSet<String>), Failure> {
    let hosts = |pairs: Vec<super::etcd::Pair>, place: &str| -> Vec<(String, Vec<u8>)> {
        let name = |key: &[u8]| String::from_utf8_lossy(key.strip_prefix(place.as_bytes()).unwrap_or(key)).into_owned();
        pairs.into_iter().map(|pair| (name(&pair.key), pair.value)).collect()
    };
    let place = report::place(prefix);
    let mut silent: BTreeSet<String> = hosts(etcd.range(&place)?.0, &place).into_iter().map(|(host, _)| host).collect();
    let mut all: Vec<Tally> = wishes.iter().map(|_| Tally::default()).collect();
    if silent.is_empty() {
        return Ok((all, silent));
    }
    let lease = etcd.lease(LASTS)?;
    let item =
        |wish: &Wish| Item { processes: wish.processes.clone(), set: format!("{}={}", wish.selector, wish.is.value) };
    let trial = Trial { lease, items: wishes.iter().map(item).collect() };
    // The lease's number names the trial, because no other lease has it.
    let id = format!("{lease:x}");
    etcd.put(&format!("{prefix}/set?/{id}"), &serde_json::to_string(&trial).unwrap_or_default(), Some(lease))?;
    let (place, end) = (answers(prefix, &id), Instant::now() + PATIENCE);
    let mut pause = PAUSES[0];
    let answers = loop {
        let answers = hosts(etcd.range(&place)?.0, &place);
        if Instant::now() >= end || silent.iter().all(|host| answers.iter().any(|(name, _)| name == host)) {
            break answers;
        }
        std::thread::sleep(pause);
        pause = pause.mul_f64(1.5).min(PAUSES[1]);
    };
    for (host, value) in answers {
        silent.remove(&host);
        let tallies: Vec<Tally> = serde_json::from_slice(&value).unwrap_or_default();
        all.iter_mut().zip(tallies).for_each(|(all, tally)| all.add(&host, tally));
    }
    etcd.revoke(lease)?;
    Ok((all, silent))
}
