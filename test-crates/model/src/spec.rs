//! The specification: programs, and what they may come to. Operations take effect one after another, in any order that
//! keeps the order of each thread; numbers are plain numbers.

use std::collections::HashSet;

use crate::count::{Change, Misuse};

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// enable, disable, inc, dec of a key.
    Change(usize, Change),
    /// Several changes, all or nothing.
    Batch(&'static [(usize, Change)]),
    /// inc, if that needs no lock.
    FastInc(usize),
    /// The last user leaves later.
    DecDeferred(usize),
    /// What is due is carried out.
    Work,
    /// No change any more.
    Seal(usize),
}

impl Op {
    /// The key of which it gives one use back.
    #[must_use]
    pub fn releases(self) -> Option<usize> {
        match self {
            Op::Change(key, Change::Dec) | Op::DecDeferred(key) => Some(key),
            _ => None,
        }
    }

    fn takes(self) -> Option<usize> {
        match self {
            Op::Change(key, Change::Inc) | Op::FastInc(key) => Some(key),
            _ => None,
        }
    }

    /// Counts what a thread holds after the operation succeeded.
    pub fn count_held(self, held: &mut [i32; 2]) {
        if let Some(key) = self.takes() {
            held[key] += 1;
        }
        if let Some(key) = self.releases() {
            held[key] -= 1;
        }
    }
}

/// Why an operation did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The counter's word.
    Misuse(Misuse),
    /// The patch was refused.
    Denied,
    /// No inc without a lock.
    NotEnabled,
}

/// Of one operation.
pub type Return = Result<(), Refusal>;

/// What a run comes to, when all threads are done and nothing is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Of each thread.
    pub results: Vec<Vec<Return>>,
    /// Of each key.
    pub counts: [i32; 2],
    /// Of each key.
    pub sealed: [bool; 2],
}

impl std::hash::Hash for Outcome {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.counts, self.sealed).hash(state);
    }
}

/// Threads, and what they meet.
#[derive(Clone, Debug)]
pub struct Program {
    /// The counts at the start.
    pub start: [i32; 2],
    /// Which patch is refused, counted from 1.
    pub refuse: Option<usize>,
    /// What each thread does.
    pub threads: Vec<Vec<Op>>,
}

#[derive(Clone)]
struct State {
    counts: [i32; 2],
    sealed: [bool; 2],
    due: [bool; 2],
    patches: usize,
    at: Vec<usize>,
    held: Vec<[i32; 2]>,
    results: Vec<Vec<Return>>,
}

impl Program {
    /// Whether each thread gives back only what it took, and nobody turns a key off or on by `disable` or `enable`. Then
    /// every holder may rely on its key, and a dec whose inc was refused is left out.
    #[must_use]
    pub fn is_orderly(&self) -> bool {
        self.threads.iter().all(|ops| {
            let mut held = [0; 2];
            ops.iter().all(|&op| {
                op.count_held(&mut held);
                let sets = matches!(op, Op::Change(_, Change::Enable | Change::Disable) | Op::Batch(_));
                !sets && held.iter().all(|&held| held >= 0)
            })
        })
    }

    /// All outcomes of sequential runs.
    #[must_use]
    pub fn outcomes(&self) -> HashSet<Outcome> {
        let threads = self.threads.len();
        let mut found = HashSet::new();
        let mut open = vec![State {
            counts: self.start,
            sealed: [false; 2],
            due: [false; 2],
            patches: 0,
            at: vec![0; threads],
            held: vec![[0; 2]; threads],
            results: vec![Vec::new(); threads],
        }];
        while let Some(state) = open.pop() {
            let mut done = true;
            for thread in 0..threads {
                if let Some(&op) = self.threads[thread].get(state.at[thread]) {
                    done = false;
                    let mut next = state.clone();
                    next.at[thread] += 1;
                    if matches!(op, Op::FastInc(_)) && self.may_undo() {
                        // It may meet a key whose last user was about to leave, and then could not.
                        let mut unlucky = next.clone();
                        unlucky.results[thread].push(Err(Refusal::NotEnabled));
                        open.push(unlucky);
                    }
                    self.step(&mut next, thread, op);
                    open.push(next);
                }
            }
            if done {
                let mut last = state;
                while last.due != [false; 2] {
                    self.work(&mut last);
                }
                found.insert(Outcome { results: last.results, counts: last.counts, sealed: last.sealed });
            }
        }
        found
    }

    /// Whether a thread may meet a key that is going off and will stay on, because the patch or the counter of another key refuses.
    fn may_undo(&self) -> bool {
        let alone = self.threads.len() == 1;
        !alone && (self.refuse.is_some() || self.threads.iter().flatten().any(|op| matches!(op, Op::Batch(_))))
    }

    fn step(&self, state: &mut State, thread: usize, op: Op) {
        if self.is_orderly() && op.releases().is_some_and(|key| state.held[thread][key] == 0) {
            return;
        }
        let result = match op {
            Op::Change(key, change) => self.commit(state, &[(key, change)]),
            Op::Batch(changes) => self.commit(state, changes),
            Op::FastInc(key) if (1..i32::MAX).contains(&state.counts[key]) && !state.sealed[key] => {
                state.counts[key] += 1;
                Ok(())
            }
            Op::FastInc(_) => Err(Refusal::NotEnabled),
            Op::DecDeferred(key) => match state.counts[key] {
                _ if state.sealed[key] => Err(Refusal::Misuse(Misuse::Sealed)),
                0 => Err(Refusal::Misuse(Misuse::Underflow)),
                1 => {
                    state.due[key] = true;
                    Ok(())
                }
                _ => {
                    state.counts[key] -= 1;
                    Ok(())
                }
            },
            Op::Work => {
                self.work(state);
                Ok(())
            }
            Op::Seal(key) if state.counts[key] == i32::MAX => Err(Refusal::Misuse(Misuse::Overflow)),
            Op::Seal(key) => {
                state.sealed[key] = true;
                Ok(())
            }
        };
        if result.is_ok() {
            op.count_held(&mut state.held[thread]);
        }
        state.results[thread].push(result);
    }

    fn work(&self, state: &mut State) {
        for key in 0..state.due.len() {
            if state.due[key] {
                state.due[key] = self.commit(state, &[(key, Change::Dec)]) == Err(Refusal::Denied);
            }
        }
    }

    /// All or nothing.
    fn commit(&self, state: &mut State, changes: &[(usize, Change)]) -> Return {
        let mut counts = state.counts;
        for &(key, change) in changes {
            let count = &mut counts[key];
            let changed = match (change, *count) {
                (Change::Enable, 0 | 1) => 1,
                (Change::Disable, 0 | 1) => 0,
                (Change::Enable | Change::Disable, _) if !state.sealed[key] => {
                    return Err(Refusal::Misuse(Misuse::Counted(*count)));
                }
                (Change::Enable, users) => users,
                (Change::Disable, _) => 0,
                (Change::Inc | Change::Dec, _) if state.sealed[key] => return Err(Refusal::Misuse(Misuse::Sealed)),
                (Change::Inc, i32::MAX) => return Err(Refusal::Misuse(Misuse::Overflow)),
                (Change::Inc, users) => users + 1,
                (Change::Dec, 0) => return Err(Refusal::Misuse(Misuse::Underflow)),
                (Change::Dec, users) => users - 1,
            };
            if state.sealed[key] && changed != *count {
                return Err(Refusal::Misuse(Misuse::Sealed));
            }
            *count = changed;
        }
        let flips = (0..counts.len()).any(|key| (counts[key] > 0) != (state.counts[key] > 0));
        if flips {
            state.patches += 1;
            if self.refuse == Some(state.patches) {
                return Err(Refusal::Denied);
            }
        }
        state.counts = counts;
        Ok(())
    }
}
