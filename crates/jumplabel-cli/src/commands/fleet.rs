//! The commands `fleet` and `follow`.

use std::borrow::Cow;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::arguments::{self, Cluster};
use crate::failure::{DIFFERS, DONE, Failure};
use crate::fleet::etcd::Etcd;
use crate::fleet::report::{self, Fleet, Host, Listed};
use crate::fleet::{self, Is, Wish, trial};
use crate::report::{Report, Side};

use super::{SCHEMA, without_values};

/// The pause between two looks at the followers' reports.
const PAUSE: Duration = Duration::from_millis(100);

pub fn run(what: &arguments::Fleet, report: &mut Report) -> Result<u8, Failure> {
    match what {
        arguments::Fleet::Set(what) => set(what, report),
        arguments::Fleet::Unset(what) => unset(what, report),
        arguments::Fleet::List(what) => list(what, report),
    }
}

pub fn follow(what: &arguments::Follow, out: &mut dyn Write) -> Result<u8, Failure> {
    let arguments::Follow { cluster: Cluster { etcd, prefix }, host, forgets } = what;
    let host = match host {
        Some(host) => host.clone(),
        None => std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
    };
    if host.is_empty() || host.contains('/') {
        return Err(Failure::Usage("this host has no name: say --host NAME, without /".to_owned()));
    }
    let following = fleet::Following { members: etcd.clone(), prefix: prefix.clone(), host, resumes: !forgets };
    fleet::follow(following, out)
}

/// Turns each selector into a wish. Checks all wishes before it writes the first to etcd.
fn set(what: &arguments::FleetSet, report: &mut Report) -> Result<u8, Failure> {
    let arguments::FleetSet { cluster: Cluster { etcd, prefix }, processes, selectors, seconds, wait, anyway } = what;
    if processes.is_empty() || processes.contains('/') {
        return Err(Failure::Usage(format!("`{processes}`: names of processes have no /")));
    }
    let (by, until) = (who(), seconds.map(|seconds| fleet::now() + u64::from(seconds)));
    let mut wishes = Vec::new();
    for item in selectors {
        let (selector, value) = fleet::wished(item)?;
        let is = Is { value, by: by.clone(), until };
        let wish = Wish { processes: processes.clone(), selector, is, revision: 0 };
        wish.item().map_err(Failure::Usage)?;
        wishes.push(wish);
    }
    let mut etcd = Etcd::new(etcd)?;
    let mut code = tried(&mut etcd, prefix, &wishes, *anyway, report)?;
    let lease = seconds.map(|seconds| etcd.lease(seconds)).transpose()?;
    let mut last = 0;
    for wish in &wishes {
        let value = serde_json::to_string(&wish.is).unwrap_or_default();
        last = etcd.put(&wish.key(prefix), &value, lease)?;
        report.line(&format_args!("revision {last}: {}={} in processes {processes}", wish.selector, wish.is.value));
    }
    if let Some(seconds) = wait {
        code = code.max(followed(&mut etcd, prefix, last, *seconds, report)?);
    }
    Ok(code)
}

/// Asks the followers whether their processes would accept the wishes. If a process refuses one, returns an error, and the caller writes no wish.
/// With `anyway`, refusals do not matter. Returns `DIFFERS` if no process has a key that a wish names. The caller still writes the wishes, for
/// processes that start later.
fn tried(etcd: &mut Etcd, prefix: &str, wishes: &[Wish], anyway: bool, report: &mut Report) -> Result<u8, Failure> {
    let (tallies, silent) = trial::ask(etcd, prefix, wishes)?;
    let mut code = DONE;
    for (wish, tally) in wishes.iter().zip(&tallies) {
        let item = format!("{}={}", wish.selector, wish.is.value);
        if !tally.refused.is_empty() && !anyway {
            let others = tally.others();
            return Err(Failure::Refused(format!(
                "nothing is wished: `{item}`{others}; --anyway wishes it all the same"
            )));
        }
        if tally.done + tally.late.len() + tally.refused.len() == 0 && silent.is_empty() {
            let (selector, processes) = (&wish.selector, &wish.processes);
            report.error(&format_args!(
                "nothing matches `{selector}` in {} processes {processes}: it is for those that come later",
                tally.without
            ));
            code = DIFFERS;
        }
    }
    if !silent.is_empty() {
        let names = silent.into_iter().collect::<Vec<_>>().join(", ");
        report.error(&format_args!("not tried out by hosts that do not answer: {names}"));
    }
    Ok(code)
}

/// Waits until all hosts, with all their processes, have followed a revision, but at most `seconds`. Reports hosts that have not, and failures.
fn followed(etcd: &mut Etcd, prefix: &str, revision: i64, seconds: u32, report: &mut Report) -> Result<u8, Failure> {
    let end = Instant::now() + Duration::from_secs(seconds.into());
    loop {
        let mut all = Fleet::default();
        let mut is_late = false;
        for (name, host) in reports(etcd, prefix, report)? {
            is_late |= host.late > 0;
            all.add(&name, host, revision);
        }
        let is_over = Instant::now() >= end;
        if is_over || all.behind.is_empty() && !is_late {
            all.behind.iter().for_each(|name| report.error(&format_args!("{name} has not followed")));
            all.failed.iter().for_each(|why| report.error(why));
            report.line(&format_args!(
                "{} hosts with {} processes; {} behind",
                all.hosts,
                all.processes,
                all.behind.len()
            ));
            let is_done = all.behind.is_empty() && all.failed.is_empty();
            return Ok(if is_done { DONE } else { DIFFERS });
        }
        std::thread::sleep(PAUSE);
    }
}

/// The last report of each follower, with the name of its host.
fn reports(etcd: &mut Etcd, prefix: &str, report: &mut Report) -> Result<Vec<(String, Host)>, Failure> {
    let place = report::place(prefix);
    let mut all = Vec::new();
    for pair in etcd.range(&place)?.0 {
        let key = String::from_utf8_lossy(&pair.key);
        let name = key.strip_prefix(&place).unwrap_or(&key);
        match serde_json::from_slice(&pair.value) {
            Ok(host) => all.push((name.to_owned(), host)),
            Err(error) => report.error(&format_args!("the report of {name}: {error}")),
        }
    }
    Ok(all)
}

fn unset(what: &arguments::FleetUnset, report: &mut Report) -> Result<u8, Failure> {
    let arguments::FleetUnset { cluster: Cluster { etcd, prefix }, processes, selectors } = what;
    without_values("fleet unset", selectors)?;
    let mut etcd = Etcd::new(etcd)?;
    let mut code = DONE;
    for selector in selectors {
        if !etcd.delete(&format!("{}{processes}/{selector}", Wish::place(prefix)))? {
            report.error(&format_args!(
                "nobody wished for `{selector}` in processes {processes}; fleet list shows what there is"
            ));
            code = DIFFERS;
        }
    }
    Ok(code)
}

fn list(what: &arguments::FleetList, report: &mut Report) -> Result<u8, Failure> {
    let arguments::FleetList { cluster: Cluster { etcd, prefix }, json } = what;
    let mut etcd = Etcd::new(etcd)?;
    let (wishes, _) = etcd.range(&Wish::place(prefix))?;
    let last = wishes.iter().map(|pair| pair.revision).max().unwrap_or(0);
    let mut all = Fleet { version: SCHEMA, ..Fleet::default() };
    reports(&mut etcd, prefix, report)?.into_iter().for_each(|(name, host)| all.add(&name, host, last));
    for pair in wishes {
        match Wish::read(prefix, &pair.key, &pair.value, pair.revision) {
            Ok(Wish { processes, selector, is: Is { value, by, until }, revision }) => {
                let left = until.map(|until| until.saturating_sub(fleet::now()));
                all.wishes.push(Listed { selector, value, processes, by, left, revision });
            }
            Err(why) => report.error(&why),
        }
    }
    all.wishes.sort_by_key(|wish| wish.revision);
    all.failed.iter().for_each(|why| report.error(why));
    if *json {
        report.json(&all);
        return Ok(DONE);
    }
    let (left, right) = (Side::Left, Side::Right);
    if !all.wishes.is_empty() {
        let row = |wish: &Listed| {
            let ends = wish.left.map_or("-".to_owned(), |left| format!("{left}s"));
            [&wish.selector, &wish.value, &wish.processes, &ends, &wish.by].map(|cell| Cow::Owned(cell.clone()))
        };
        let heading = [("WISH", left), ("VALUE", left), ("PROCESSES", left), ("ENDS", right), ("BY", left)];
        report.columns(heading, all.wishes.iter().map(row).collect());
    }
    let rows = all.keys.iter().flat_map(|(key, states)| {
        states.iter().map(|(state, count)| [key.clone(), state.clone(), count.to_string()].map(Cow::Owned))
    });
    report.columns([("KEY", left), ("STATE", left), ("PROCESSES", right)], rows.collect());
    report.line(&format_args!("{} hosts with {} processes; {} behind", all.hosts, all.processes, all.behind.len()));
    Ok(DONE)
}

/// The user and host for a wish's field `by`. The text only informs readers: nobody checks it.
fn who() -> String {
    use std::os::unix::fs::MetadataExt;
    let uid = std::fs::metadata("/proc/self").map_or("?".to_owned(), |own| own.uid().to_string());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("uid {uid} of {}", host.trim())
}
