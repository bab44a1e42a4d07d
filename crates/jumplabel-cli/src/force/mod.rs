//! `--force`: reads the keys of a process that has no agent from its memory, and changes them by ptrace.
//!
//! ```text
//!   guard      starts a process that makes a change, and watches it
//!   change     what is written, in which order
//!   contents   counts, and what sites hold                 look       list, check
//!   locks      whether the process flips by itself now     live       the process's objects and their keys
//!   objects    what is loaded, and its tables              threads    stops all threads
//!   memory     of the other process                        outside    what the process's agent library says
//!   present    the process as a target of commands         repair     check --repair
//!   hooks      whether a site's function is hooked         wanted     the keys that set changes
//! ```
//!
//! This works only on x86-64. There, a thread that goes back to its code by `iret` sees what was written before (`Stopped::serialise`).

mod change;
mod contents;
mod guard;
mod hooks;
mod live;
mod locks;
mod look;
mod memory;
mod objects;
mod outside;
mod present;
mod repair;
mod threads;
mod wanted;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jumplabel::key::count;
use jumplabel_agent::protocol::{Answer, Changed, Done};
use jumplabel_agent::tracepoints;
use jumplabel_format::layout::MAGIC;
use jumplabel_selector::Selector;

use crate::arguments::Set;
use crate::failure::Failure;
use crate::target::Target;
use change::{Plan, Wanted};
use live::{Key, Live};
pub use look::{check, differences, list};
pub use repair::verify;
use threads::Stopped;

/// The number of a process or thread.
pub type Pid = u32;

/// The number of times that the tool tries a change if the process is in the way, for example because it flips keys by itself ([`attempt`]). The tool
/// waits for `PAUSE` between two tries.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// The number of the process that a target names.
fn pid(target: &str) -> Result<Pid, Failure> {
    target
        .parse()
        .ok()
        .filter(|&pid| pid > 0)
        .ok_or_else(|| Failure::Usage(format!("`{target}`: give the number of a process: its memory is read")))
}

/// A process as a target: its objects, with the present state of keys, static calls, modes and the bytes of their sites. Addresses are those of the
/// files.
pub fn target(name: &str) -> Result<Target, Failure> {
    Live::read(pid(name)?)?.into_target()
}

/// The keys that some selectors choose, each once. Without selectors, all keys.
fn chosen(live: &Live, selectors: &[Selector]) -> Result<Vec<usize>, Failure> {
    live.is_readable()?;
    let mut all: Vec<usize> = if selectors.is_empty() { (0..live.keys.len()).collect() } else { Vec::new() };
    for selector in selectors {
        all.extend(some(live, selector)?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// The keys that a selector chooses. It is an error if there are none.
fn some(live: &Live, selector: &Selector) -> Result<Vec<usize>, Failure> {
    live.is_readable()?;
    let keys = live.choose(selector)?;
    if keys.is_empty() {
        let meant = jumplabel_selector::did_you_mean(&selector.what, live.keys.iter().map(|key| &*key.name));
        return Err(Failure::Nothing(format!("{}: nothing matches `{selector}`{meant}", live.pid)));
    }
    Ok(keys)
}

fn word_of(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The socket of the process's agent, if the process has one. The socket may be anywhere, because the process's memory names it.
pub fn agent(target: &str) -> Result<Option<PathBuf>, Failure> {
    Live::read(pid(target)?)?.agent()
}

/// The library's instances in a process, and the process's agent.
pub struct Inside {
    /// The library's instances: the object that contains each, and the version of its format.
    pub instances: Vec<(String, u32)>,
    /// The result of [`agent`].
    pub agent: Result<Option<PathBuf>, Failure>,
}

/// A thread by whose number the system shows the process's files. It is an error if all threads of the process have ended.
pub fn alive(pid: Pid) -> Result<Pid, Failure> {
    threads::alive(pid)
}

/// Reads the process once, and finds both its instances and its agent.
pub fn inside(target: &str) -> Result<Inside, Failure> {
    let live = Live::read(pid(target)?)?;
    let instances = live.heads(MAGIC).into_iter();
    let instances = instances.map(|head| (live.target.objects[head.object].path.clone(), head.version)).collect();
    Ok(Inside { instances, agent: live.agent() })
}

/// `set`, made by a worker process, which prints the result. Returns the worker's exit code.
pub fn guarded(what: &Set) -> Result<u8, Failure> {
    if what.seconds.is_some() {
        let why = "--for needs an agent, which takes it back though this tool is killed: leave out --for";
        return Err(Failure::Usage(format!("{}: {why}", what.target)));
    }
    guard::run(pid(&what.target)?, what)
}

/// `set`, in this process.
pub fn set(what: &Set) -> Result<Answer, Failure> {
    let pid = pid(&what.target)?;
    let mut writes = 0;
    let mut before = || {
        if what.dies == Some(writes) {
            die();
        }
        writes += 1;
    };
    let choose = |live: &Live| {
        if live.agent()?.is_some() {
            return Err(Failure::Refused(format!("{pid}: it has started an agent just now: try again")));
        }
        let wanted = wanted::wanted(live, &what.selectors)?;
        match live.forbidden()?.iter().find(|(key, _)| wanted.iter().any(|(chosen, _)| chosen == key)) {
            None => Ok(wanted),
            Some((key, selector)) => Err(Failure::Refused(format!(
                "{}: the program lets nobody change it from outside (`{selector}`): nothing is set",
                live.keys[*key].name
            ))),
        }
    };
    let how = How { dry_run: what.dry_run, runs: what.runs };
    let (live, plan, pause) = attempt(pid, &choose, how, &mut before)?;
    let changes = plan.counts().iter().map(|count| changed(&live.keys[count.key], count)).collect();
    let undo: Vec<_> = plan.counts().iter().map(|count| undo(&live, count)).collect();
    let traced = live.tracepoints();
    let turned = plan.counts().iter().filter(|count| (count::users(count.old) > 0) != (count::users(count.new) > 0));
    let notes = turned
        .filter(|count| traced.contains(&count.key))
        .filter_map(|turned| tracepoints::note(&live.keys[turned.key].name, count::users(turned.new) > 0, None));
    // If counts change, all sites belong to that change, and none counts as repaired.
    let back = if plan.counts().is_empty() { plan.sites() } else { 0 };
    let notes = notes.chain(Done::brought_back(back)).collect();
    let nanoseconds = pause.as_nanos().try_into().unwrap_or(u64::MAX);
    let done = Done {
        changes,
        undo: undo.join(","),
        dry_run: what.dry_run,
        pages: plan.pages(),
        nanoseconds,
        notes,
        reverts_in: None,
    };
    Ok(Answer { set: Some(done), ..Answer::new() })
}

/// A change of a key, as an agent would describe it.
fn changed(key: &Key, count: &change::Count) -> Changed {
    let [from, to] = [count.old, count.new].map(|word| {
        let users = count::users(word);
        let state = word_of(users > 0);
        if count.is_counted { format!("{state}/{users}") } else { state.to_owned() }
    });
    Changed { key: key.name.clone(), from, to, sites: key.sites.len() }
}

/// The item for `set` that takes the change back.
fn undo(live: &Live, count: &change::Count) -> String {
    let key = &live.keys[count.key];
    let is_alone = live.keys.iter().filter(|other| other.name == key.name).count() == 1;
    let place = key.declared.as_ref().filter(|_| !is_alone);
    let at = place.map_or_else(String::new, |at| format!("@{}:{}:{}", at.file, at.line, at.column));
    let back = match (count.is_counted, count.new > count.old) {
        (true, true) => "-1",
        (true, false) => "+1",
        (false, true) => "=off",
        (false, false) => "=on",
    };
    jumplabel_selector::literal(&(key.name.clone() + &at), back)
}

/// Makes sites and counts of a process agree after somebody has killed the worker in the middle of a change.
fn repair(pid: Pid) -> Result<(), Failure> {
    let how = How { dry_run: false, runs: false };
    match attempt(pid, &|_| Ok(Vec::new()), how, &mut || ()) {
        // The process has ended, so that there is nothing to repair.
        Err(Failure::OutOfReach(_)) if !fs::exists(format!("/proc/{pid}")).unwrap_or(true) => Ok(()),
        done => done.map(drop),
    }
}

/// How to make a change.
#[derive(Clone, Copy)]
struct How {
    dry_run: bool,
    /// For tests: whether the threads run on during the change.
    runs: bool,
}

/// Tries the change, at most [`TRIES`] times. A try fails if the process loads or unloads libraries, if one of its threads holds the library's lock,
/// or if a thread is inside an instruction that changes.
fn attempt(
    pid: Pid,
    choose: &dyn Fn(&Live) -> Result<Vec<Wanted>, Failure>,
    how: How,
    before: &mut dyn FnMut(),
) -> Result<(Live, Plan, Duration), Failure> {
    let mut why = String::new();
    for number in 0..TRIES {
        if number > 0 {
            std::thread::sleep(PAUSE);
        }
        // This may take long, because the process runs on meanwhile.
        let live = Live::read(pid)?;
        let wanted = choose(&live)?;
        if how.dry_run {
            let plan = Plan::make(&live, &live.locks()?, &wanted)?;
            return Ok((live, plan, Duration::ZERO));
        }
        threads::shares_memory(threads::alive(pid)?)?;
        let start = Instant::now();
        let stopped = if how.runs { Stopped::none(pid) } else { Stopped::stop(pid)? };
        if !live.is_same()? {
            why = "it goes on loading and unloading libraries".to_owned();
            continue;
        }
        let locks = live.locks()?;
        if locks.owner != 0 {
            why = format!("thread {} of it holds the lock of the library", locks.owner & !(3 << 30));
            continue;
        }
        if locks.is_stuck {
            let what = "the program could not take back a flip that failed; its next flip tries again";
            return Err(Failure::Refused(format!("{pid}: {what}: nothing is set")));
        }
        let plan = Plan::make(&live, &locks, &wanted)?;
        if plan.meets(&stopped.instruction_pointers()?) {
            why = "a thread is in an instruction that is to change".to_owned();
            continue;
        }
        plan.carry_out(&live, &stopped, before)?;
        drop(stopped);
        return Ok((live, plan, start.elapsed()));
    }
    Err(Failure::Refused(format!("{pid}: {why}, and did each of {TRIES} times: nothing is set")))
}

/// For tests: ends this process as if somebody had killed it.
fn die() {
    // SAFETY: the call takes this process's number and a signal, and touches no memory.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    loop {
        std::thread::park();
    }
}
