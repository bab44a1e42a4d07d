//! Model check of the counter of a key and of the process-wide lock by loom: in all interleavings for the smallest programs,
//! with a bound on preemptions for larger ones.
//!
//! ```text
//!   raw/count.rs  ───── as it stands ─────► count ──► process: keys, sites, a lock; what patch/mod.rs does around it
//!                                                        │ results, counts, sites
//!                                                        ▼
//!                                           spec: the same operations one after another, in plain numbers
//!
//!   platform/linux/instance/mutex.rs ─ as it stands ────► exclusion: over a model of the futex call
//!   trace/counting.rs ─── as it stands ────► readers: lists of probes that are taken away and freed
//! ```
//!
//! `count.rs`, `mutex.rs` and `counting.rs` are the core's files, included by path; they take their atomics from the module around them,
//! which here hands them loom's. What surrounds them in the core (collecting, writing, signals) is replaced by the least
//! that has the same order of effects. tests/broken.rs shows that each rule of the counter is needed: with any of them
//! broken, loom finds an interleaving that the specification does not allow.

pub mod atomic;
#[path = "../../../crates/jumplabel/src/raw/count.rs"]
pub mod count;
pub mod exclusion;
pub mod process;
pub mod readers;
pub mod rules;
pub mod spec;

use std::collections::HashSet;
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use process::Process;
use rules::Rules;
use spec::{Op, Outcome, Program};

/// Runs `program` in all interleavings, or those with few preemptions; how many there were. Panics at the first whose outcome is none of a sequential
/// run, or that breaks a promise on the way.
pub fn check(rules: Rules, program: &Program, preemptions: Option<usize>) -> u64 {
    let allowed: StdArc<HashSet<Outcome>> = StdArc::new(program.outcomes());
    let program = program.clone();
    explore(preemptions, move || {
        let process = loom::sync::Arc::new(Process::new(rules, &program));
        let threads: Vec<_> = (1..program.threads.len())
            .map(|number| {
                let process = process.clone();
                let ops = program.threads[number].clone();
                let orderly = program.is_orderly();
                loom::thread::spawn(move || process.run(&ops, orderly))
            })
            .collect();
        let mut results = vec![process.run(&program.threads[0], program.is_orderly())];
        results.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        let outcome = process.finish(results);
        assert!(allowed.contains(&outcome), "{program:?}\n came to {outcome:?}\n allowed {allowed:#?}");
    })
}

/// A thread runs `ops` on a key with that count, another looks once. Where the ops only turn the key on, or only off,
/// `is_enabled` must not run ahead of the sites. How many interleavings there were.
pub fn check_reader(rules: Rules, start: i32, refuse: Option<usize>, ops: [Op; 2]) -> u64 {
    let program = Program { start: [start, 0], refuse, threads: vec![] };
    explore(None, move || {
        let process = loom::sync::Arc::new(Process::new(rules, &program));
        let flipper = {
            let process = process.clone();
            loom::thread::spawn(move || drop(process.run(&ops, false)))
        };
        let key = &process.keys[0];
        let goes_on = start == 0;
        if key.is_enabled() == goes_on {
            assert!(key.sites_are(goes_on), "is_enabled runs ahead of the sites");
        }
        flipper.join().unwrap();
    })
}

/// All interleavings of `body`, or those with few preemptions; how many there were.
pub fn explore(preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) -> u64 {
    let count = StdArc::new(AtomicU64::new(0));
    let counter = count.clone();
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.preemption_bound = preemptions;
    builder.check(move || {
        counter.fetch_add(1, Relaxed);
        body();
    });
    count.load(Relaxed)
}
