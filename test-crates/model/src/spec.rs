//! The specification: programs, and what they may come to. Operations take effect one after another, in any order that
//! keeps the order of each thread; numbers are plain numbers.
//!
//! A key has users, and perhaps one who has left and is still counted. No user ever goes but by its own operation: what is
//! due takes that one away, and nobody else.

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

#[derive(Clone, Copy)]
struct Key {
    users: i32,
    /// One more is counted, who has left.
    left: bool,
    sealed: bool,
}

impl Key {
    fn count(self) -> i32 {
        self.users + i32::from(self.left)
    }

    fn without_the_one_who_left(self) -> Key {
        Key { left: false, ..self }
    }

    /// The key after a change, or why there is none.
    fn changed(self, change: Change) -> Result<Key, Misuse> {
        let Key { users, left, sealed } = self;
        let of = |users| Ok(Key { users, left: false, sealed });
        match (change, self.count()) {
            // As it should be already. A sealed key has nobody who has left.
            (Change::Enable, 1..) if sealed => Ok(self),
            (Change::Disable, 0) => Ok(self),
            _ if sealed => Err(Misuse::Sealed),
            (Change::Enable, 0 | 1) => of(1),
            (Change::Disable, 1) => of(0),
            (Change::Enable | Change::Disable, count) => Err(Misuse::Counted(count)),
            (Change::Inc, i32::MAX) => Err(Misuse::Overflow),
            (Change::Inc, _) => Ok(Key { users: users + 1, ..self }),
            (Change::Dec, 0) => Err(Misuse::Underflow),
            (Change::Dec, 1) => of(0),
            (Change::Dec, _) => Ok(Key { users: users - 1, left, sealed }),
        }
    }
}

#[derive(Clone)]
struct State {
    keys: [Key; 2],
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
            keys: self.start.map(|users| Key { users, left: false, sealed: false }),
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
                while last.keys.iter().any(|key| key.left) {
                    self.work(&mut last);
                }
                let counts = last.keys.map(Key::count);
                found.insert(Outcome { results: last.results, counts, sealed: last.keys.map(|key| key.sealed) });
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
            Op::FastInc(key) => {
                let now = state.keys[key];
                let open = (1..i32::MAX).contains(&now.count()) && !now.sealed;
                state.keys[key].users += i32::from(open);
                if open { Ok(()) } else { Err(Refusal::NotEnabled) }
            }
            Op::DecDeferred(key) => match state.keys[key] {
                Key { sealed: true, .. } => Err(Refusal::Misuse(Misuse::Sealed)),
                Key { users: 0, left: false, .. } => Err(Refusal::Misuse(Misuse::Underflow)),
                Key { users: 0, left: true, .. } => Ok(()),
                Key { users, left, sealed } => {
                    state.keys[key] = Key { users: users - 1, left: left || users == 1, sealed };
                    Ok(())
                }
            },
            Op::Work => {
                self.work(state);
                Ok(())
            }
            Op::Seal(key) => self.count_off(state, key).and_then(|()| match state.keys[key].users {
                i32::MAX => Err(Refusal::Misuse(Misuse::Overflow)),
                _ => {
                    state.keys[key].sealed = true;
                    Ok(())
                }
            }),
        };
        if result.is_ok() {
            op.count_held(&mut state.held[thread]);
        }
        state.results[thread].push(result);
    }

    fn work(&self, state: &mut State) {
        for key in 0..state.keys.len() {
            let _ = self.count_off(state, key); // What is refused is tried again.
        }
    }

    /// The one who has left is counted no more.
    fn count_off(&self, state: &mut State, key: usize) -> Return {
        let mut keys = state.keys;
        keys[key] = keys[key].without_the_one_who_left();
        self.turn_into(state, keys)
    }

    /// All or nothing.
    fn commit(&self, state: &mut State, changes: &[(usize, Change)]) -> Return {
        let mut keys = state.keys;
        for &(key, change) in changes {
            keys[key] = keys[key].changed(change).map_err(Refusal::Misuse)?;
        }
        self.turn_into(state, keys)
    }

    /// Patches what goes on and off.
    fn turn_into(&self, state: &mut State, keys: [Key; 2]) -> Return {
        let flips = (0..keys.len()).any(|key| (keys[key].count() > 0) != (state.keys[key].count() > 0));
        if flips {
            state.patches += 1;
            if self.refuse == Some(state.patches) {
                return Err(Refusal::Denied);
            }
        }
        state.keys = keys;
        Ok(())
    }
}
