//! A follower's report to the fleet: how many processes of its host have a key in which state. Each host has one report, so that ten thousand
//! processes make some hundred keys in etcd.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::etcd::Etcd;

/// How long a report stays after its follower has gone, in seconds.
const LASTS: u32 = 60;

/// The report of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub version: u32,
    pub processes: usize,
    /// The revision that the host has followed last.
    pub revision: i64,
    /// For each key that a wish names, the number of processes by state.
    pub keys: BTreeMap<String, BTreeMap<String, usize>>,
    /// The number of processes that do not answer.
    #[serde(default)]
    pub late: usize,
    /// The first few failures, a sentence each.
    pub failed: Vec<String>,
}

/// The beginning of the keys of all reports under a prefix.
pub fn place(prefix: &str) -> String {
    format!("{prefix}/report/")
}

/// The sum of all hosts' reports.
#[derive(Debug, Default, Serialize)]
pub struct Fleet {
    pub version: u32,
    pub hosts: usize,
    pub processes: usize,
    pub keys: BTreeMap<String, BTreeMap<String, usize>>,
    /// The hosts that have not followed the last wish yet.
    pub behind: Vec<String>,
    pub failed: Vec<String>,
    pub wishes: Vec<Listed>,
}

/// A wish, as `fleet list` shows it.
#[derive(Debug, Serialize)]
pub struct Listed {
    pub selector: String,
    pub value: String,
    pub processes: String,
    pub by: String,
    /// The seconds until the wish ends.
    pub left: Option<u64>,
    pub revision: i64,
}

impl Fleet {
    /// Adds the report of a host. `last` is the revision of the last wish.
    pub fn add(&mut self, name: &str, host: Host, last: i64) {
        self.hosts += 1;
        self.processes = self.processes.saturating_add(host.processes);
        for (key, states) in host.keys {
            let all = self.keys.entry(key).or_default();
            for (state, count) in states {
                let sum = all.entry(state).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        if host.revision < last {
            self.behind.push(name.to_owned());
        }
        self.failed.extend(host.failed.into_iter().map(|why| format!("{name}: {why}")));
    }
}

/// The writer of this host's report in etcd.
pub struct Reports {
    host: String,
    lease: Option<i64>,
    last: Option<Host>,
    kept: Instant,
}

impl Reports {
    /// A writer that has not written yet.
    pub fn of(host: String) -> Reports {
        Reports { host, lease: None, last: None, kept: Instant::now() }
    }

    /// Writes the report if it has changed, or if its lease needs to be renewed. Returns whether the report is in etcd.
    pub fn write(&mut self, etcd: &mut Etcd, prefix: &str, host: Host) -> bool {
        let is_due = self.kept.elapsed() > Duration::from_secs(u64::from(LASTS) / 3);
        if self.last.as_ref() == Some(&host) && !is_due {
            return true;
        }
        if let (true, Some(lease)) = (is_due, self.lease) {
            match etcd.keep(lease) {
                Ok(true) => self.kept = Instant::now(),
                _ => self.lease = None,
            }
        }
        if self.lease.is_none() {
            self.lease = etcd.lease(LASTS).ok();
            self.kept = Instant::now();
        }
        let text = serde_json::to_string(&host).unwrap_or_default();
        let key = format!("{}{}", place(prefix), self.host);
        let is_written = self.lease.is_some() && etcd.put(&key, &text, self.lease).is_ok();
        self.last = is_written.then_some(host);
        is_written
    }
}
