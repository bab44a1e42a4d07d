//! `fleet` and `follow`.

use std::borrow::Cow;
use std::io::Write;

use crate::arguments::{self, Cluster};
use crate::failure::{DIFFERS, DONE, Failure};
use crate::fleet::etcd::Etcd;
use crate::fleet::report::{self, Fleet, Host};
use crate::fleet::{self, Is, Wish};
use crate::report::{Report, Side};

use super::{SCHEMA, without_values};

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

/// All are looked at first. Each is a wish of its own.
fn set(what: &arguments::FleetSet, report: &mut Report) -> Result<u8, Failure> {
    let arguments::FleetSet { cluster: Cluster { etcd, prefix }, processes, selectors, seconds } = what;
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
    let lease = seconds.map(|seconds| etcd.lease(seconds)).transpose()?;
    for wish in &wishes {
        let value = serde_json::to_string(&wish.is).unwrap_or_default();
        let revision = etcd.put(&wish.key(prefix), &value, lease)?;
        report.line(&format_args!("revision {revision}: {}={} in processes {processes}", wish.selector, wish.is.value));
    }
    Ok(DONE)
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
    let (reports, _) = etcd.range(&report::place(prefix))?;
    let last = wishes.iter().map(|pair| pair.revision).max().unwrap_or(0);
    let mut all = Fleet { version: SCHEMA, ..Fleet::default() };
    for pair in reports {
        let key = String::from_utf8_lossy(&pair.key);
        let name = key.strip_prefix(&report::place(prefix)).unwrap_or(&key);
        match serde_json::from_slice::<Host>(&pair.value) {
            Ok(host) => all.add(name, host, last),
            Err(error) => report.error(&format_args!("the report of {name}: {error}")),
        }
    }
    all.failed.iter().for_each(|why| report.error(why));
    if *json {
        report.json(&all);
        return Ok(DONE);
    }
    let rows = all.keys.iter().flat_map(|(key, states)| {
        states.iter().map(|(state, count)| [key.clone(), state.clone(), count.to_string()].map(Cow::Owned))
    });
    report.columns([("KEY", Side::Left), ("STATE", Side::Left), ("PROCESSES", Side::Right)], rows.collect());
    report.line(&format_args!("{} hosts with {} processes; {} behind", all.hosts, all.processes, all.behind.len()));
    Ok(DONE)
}

/// For those who read the wish: nobody checks it.
fn who() -> String {
    use std::os::unix::fs::MetadataExt;
    let uid = std::fs::metadata("/proc/self").map_or("?".to_owned(), |own| own.uid().to_string());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("uid {uid} of {}", host.trim())
}
