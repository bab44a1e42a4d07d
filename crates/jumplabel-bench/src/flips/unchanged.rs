//! Measures changes of keys to the state that they already have. Such a change reads the sites, because something else may have changed them, and
//! writes nothing. It is compared with a bare read of the same sites.

use std::time::{Duration, Instant};

use jumplabel::set_all;
use serde_json::{Value, json};

use super::{Bench, Executor, groups};
use crate::Result;
use crate::report::{Report, Table, figure};
use crate::samples::Samples;
use crate::sites::Functions;

/// Keys that are set to the state that they have, with the times of these changes and the times of reads of their sites.
struct Row {
    name: String,
    target: usize,
    sites: Functions,
    change: Box<dyn Fn() -> Result<()>>,
    changes: Samples,
    reads: Samples,
}

impl Row {
    fn new(name: String, target: usize, sites: Functions, change: impl Fn() -> Result<()> + 'static) -> Row {
        Row { name, target, sites, change: Box::new(change), changes: Samples::default(), reads: Samples::default() }
    }

    /// Takes one sample of the change, and one of the read.
    fn sample(&mut self, executor: &Executor) -> Result<()> {
        let mut result = Ok(());
        let sample = executor.time(self.target, || result = (self.change)());
        result?;
        if sample.overlapped {
            self.changes.push(sample.nanoseconds);
        }
        let sample = executor.time(self.target, || read(&self.sites));
        if sample.overlapped {
            self.reads.push(sample.nanoseconds);
        }
        Ok(())
    }
}

/// Reads the instruction of each site, as a flip must.
fn read(sites: &Functions) {
    let mut sum = 0;
    for at in 0..sites.count {
        // SAFETY: the eight bytes are text: a function and what follows it.
        sum ^= unsafe { ((sites.first + at * sites.apart) as *const u64).read_unaligned() };
    }
    std::hint::black_box(sum);
}

impl Bench {
    /// Reports keys of 1, 100 and 10,000 sites, and a batch of 3,000 keys of one site each.
    pub(super) fn report_unchanged(&self, report: &mut Report, quick: bool) -> Result<()> {
        let mut rows = Vec::new();
        for (at, group) in self.groups.iter().take(super::LIMITS.len()).enumerate() {
            let key = group.key;
            key.enable()?;
            let change = || Ok(key.enable().map(drop)?);
            rows.push(Row::new(format!("1 key, {} sites", group.sites.count), at, group.sites, change));
        }
        let (keys, sites) = groups::many();
        let change = move || {
            let outcome = set_all(keys.iter().map(|key| (&**key, true)))?;
            assert_eq!(outcome.sites, 0, "a site was not in the state of its key");
            Ok(())
        };
        set_all(keys.iter().map(|key| (&**key, true)))?;
        rows.push(Row::new(format!("a batch of {} keys", keys.len()), 2 * self.groups.len() + 1, sites, change));
        let (rounds, budget) = if quick { (150, Duration::from_secs(2)) } else { (4000, Duration::from_secs(10)) };
        let start = Instant::now();
        for _ in 0..rounds {
            if start.elapsed() > budget {
                break;
            }
            fastrand::shuffle(&mut rows);
            rows.iter_mut().try_for_each(|row| row.sample(&self.executor))?;
        }
        rows.sort_by_key(|row| row.target);
        self.groups.iter().take(super::LIMITS.len()).try_for_each(|group| group.key.disable().map(drop))?;
        set_all(keys.iter().map(|key| (&**key, false)))?;
        let head = ["nothing to change", "n", "read p10 us", "change p10 us", "p50", "p99"];
        let mut table = Table::new("Changes to the state that is there; another thread executes the sites", &head);
        let mut facts = Vec::new();
        for row in rows {
            let at = |samples: &Samples, part| samples.quantile(part) / 1e3;
            let [p10, p50, p99] = [0.1, 0.5, 0.99].map(|part| at(&row.changes, part));
            let read = at(&row.reads, 0.1);
            table.row([
                row.name.clone(),
                row.changes.len().to_string(),
                figure(read, 2),
                figure(p10, 2),
                figure(p50, 2),
                figure(p99, 2),
            ]);
            facts.push(json!({ "keys": row.name, "read_us": read, "p10_us": p10, "p50_us": p50, "p99_us": p99 }));
        }
        report.table(table);
        report.fact("unchanged", Value::Array(facts));
        Ok(())
    }
}
