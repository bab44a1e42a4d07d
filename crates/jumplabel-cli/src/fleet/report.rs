//! What a follower tells the fleet: how many of its processes have a key in which state. One a host, so that ten thousand processes are some
//! hundred keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub version: u32,
    pub processes: usize,
    /// The last change that it has followed.
    pub revision: i64,
    /// Of keys that somebody wished for: processes by state.
    pub keys: BTreeMap<String, BTreeMap<String, usize>>,
    /// Sentences; the first few.
    pub failed: Vec<String>,
}

/// Where the reports of a prefix are.
pub fn place(prefix: &str) -> String {
    format!("{prefix}/report/")
}

/// What takes back what a follower has changed: by process, as `NAME.PID`, and by wish. For the follower that comes after it.
pub type Undo = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Where that of a host is.
pub fn undo_place(prefix: &str, host: &str) -> String {
    format!("{prefix}/undo/{host}")
}

/// Of all hosts.
#[derive(Debug, Default, Serialize)]
pub struct Fleet {
    pub version: u32,
    pub hosts: usize,
    pub processes: usize,
    pub keys: BTreeMap<String, BTreeMap<String, usize>>,
    /// Hosts that have not followed the last wish.
    pub behind: Vec<String>,
    pub failed: Vec<String>,
}

impl Fleet {
    /// Adds a host. `last`: the revision of the last wish.
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
