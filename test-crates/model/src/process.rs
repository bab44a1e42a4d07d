//! The process that the counter lives in: keys with sites, and the slow path of a change as `patch/mod.rs` has it.
//!
//! ```text
//!   lock ── begin (count.rs) ── patch: one store a site ─┬─ publish ── unlock
//!                                                        └─ refused half-way: stores back ── abandon ── unlock
//! ```
//!
//! Patching is relaxed stores: what makes a site visible to a thread here is only what the counter and the lock
//! order, so that they must do it. (On a real machine the core sync does so for all threads at once.)

use loom::sync::Mutex;

use crate::atomic::{AtomicI32, Ordering};
use crate::count::{self, Change, Misuse, Transition};
use crate::rules::Rules;
use crate::spec::{Op, Outcome, Program, Refusal, Return};

const SITES: usize = 2;
/// More than any program takes.
const ROUNDS_OF_WORK: usize = 3;

/// A key and its sites.
pub struct Key {
    word: AtomicI32,
    /// 1 where it is on.
    sites: [AtomicI32; SITES],
}

impl Key {
    /// `RawKey::is_enabled`, with the order that the core sync gives it.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.word.load(Ordering::Acquire) & i32::MAX != 0
    }

    /// Whether all sites are in that state.
    #[must_use]
    pub fn sites_are(&self, on: bool) -> bool {
        self.sites.iter().all(|site| site.load(Ordering::Relaxed) == i32::from(on))
    }
}

/// What the lock guards besides the right to patch.
struct Guarded {
    /// Flags of the keys, which change under the lock only.
    due: [bool; 2],
    /// How many patches were tried.
    patches: usize,
}

/// Keys, a lock, and the patch that is refused.
pub struct Process {
    /// The keys.
    pub keys: [Key; 2],
    lock: Mutex<Guarded>,
    refuse: Option<usize>,
    rules: Rules,
}

impl Process {
    /// In the state that `program` starts in.
    #[must_use]
    pub fn new(rules: Rules, program: &Program) -> Process {
        let keys = program.start.map(|count| Key {
            word: AtomicI32::new(count),
            sites: std::array::from_fn(|_| AtomicI32::new(i32::from(count > 0))),
        });
        let lock = Mutex::new(Guarded { due: [false; 2], patches: 0 });
        Process { keys, lock, refuse: program.refuse, rules }
    }

    /// One thread's operations. In an orderly program, checks after each that the keys it holds are on.
    #[must_use]
    pub fn run(&self, ops: &[Op], orderly: bool) -> Vec<Return> {
        let mut held = [0; 2];
        let mut results = Vec::new();
        for &op in ops {
            if orderly && op.releases().is_some_and(|key| held[key] == 0) {
                continue; // Its inc was refused.
            }
            if orderly {
                self.assert_held(&held);
            }
            let result = self.perform(op);
            if result.is_ok() {
                op.count_held(&mut held);
            }
            results.push(result);
            if orderly {
                self.assert_held(&held);
            }
        }
        results
    }

    /// The promise of `inc`.
    fn assert_held(&self, held: &[i32; 2]) {
        for (key, &held) in self.keys.iter().zip(held) {
            assert!(held == 0 || key.sites_are(true), "a site of a key that is held is off");
            assert!(held == 0 || key.is_enabled(), "a key that is held is off");
        }
    }

    fn perform(&self, op: Op) -> Return {
        match op {
            Op::Change(key, change) => self.change(key, change),
            Op::Batch(changes) => self.commit(changes, &mut self.lock.lock().unwrap()),
            Op::FastInc(key) => {
                let taken = (self.rules.fast)(&self.keys[key].word, Change::Inc);
                taken.ok_or(Refusal::NotEnabled)
            }
            Op::DecDeferred(key) => self.dec_deferred(key),
            Op::Work => {
                self.work(&mut self.lock.lock().unwrap());
                Ok(())
            }
            Op::Seal(key) => self.seal(key),
        }
    }

    /// `patch::change`.
    fn change(&self, key: usize, change: Change) -> Return {
        if (self.rules.fast)(&self.keys[key].word, change).is_some() {
            return Ok(());
        }
        self.commit(&[(key, change)], &mut self.lock.lock().unwrap())
    }

    /// `patch::commit_locked`.
    fn commit(&self, changes: &[(usize, Change)], guarded: &mut Guarded) -> Return {
        let mut transitions = Vec::new();
        let mut cleared = [false; 2];
        let mut result = Ok(());
        for &(key, change) in changes {
            match (self.rules.begin)(&self.keys[key].word, change) {
                Ok(transition) => {
                    transitions.push((&self.keys[key], transition));
                    cleared[key] = (self.rules.clears_due)(change, transition);
                }
                Err(misuse) => {
                    result = Err(Refusal::Misuse(misuse));
                    break;
                }
            }
        }
        if !self.rules.publish_after_patch && result.is_ok() {
            transitions.iter().for_each(|(key, transition)| (self.rules.publish)(&key.word, *transition));
        }
        result = result.and_then(|()| self.patch(&transitions, guarded));
        for (key, transition) in transitions {
            match result {
                Ok(()) if self.rules.publish_after_patch => (self.rules.publish)(&key.word, transition),
                Ok(()) => {}
                Err(_) if transition == Transition::Leave => (self.rules.add)(&key.word),
                Err(_) => (self.rules.abandon)(&key.word),
            }
        }
        if result.is_ok() {
            guarded.due.iter_mut().zip(cleared).for_each(|(due, cleared)| *due &= !cleared);
        }
        result
    }

    /// All sites of all keys, or none.
    fn patch(&self, transitions: &[(&Key, Transition)], guarded: &mut Guarded) -> Return {
        let edits: Vec<(&AtomicI32, bool)> = transitions
            .iter()
            .filter(|(_, transition)| matches!(transition, Transition::TurnOn | Transition::TurnOff))
            .flat_map(|(key, transition)| key.sites.iter().map(move |site| (site, *transition == Transition::TurnOn)))
            .collect();
        if edits.is_empty() {
            return Ok(());
        }
        guarded.patches += 1;
        let refused = self.refuse == Some(guarded.patches);
        let written = if refused { edits.len() / 2 } else { edits.len() };
        for (site, on) in &edits[..written] {
            site.store(i32::from(*on), Ordering::Relaxed);
        }
        if refused {
            for (site, on) in edits[..written].iter().rev() {
                site.store(i32::from(!*on), Ordering::Relaxed);
            }
            return Err(Refusal::Denied);
        }
        Ok(())
    }

    /// `DeferredKey::dec_deferred`: never flips.
    fn dec_deferred(&self, key: usize) -> Return {
        let word = &self.keys[key].word;
        loop {
            if (self.rules.fast)(word, Change::Dec).is_some() {
                return Ok(());
            }
            let mut guarded = self.lock.lock().unwrap();
            if count::sealed(word) {
                return Err(Refusal::Misuse(Misuse::Sealed));
            }
            match count::users(word.load(Ordering::Relaxed)) {
                0 => return Err(Refusal::Misuse(Misuse::Underflow)),
                1 => {
                    guarded.due[key] = true;
                    return Ok(());
                }
                // Another user came meanwhile.
                _ if self.rules.deferred_never_flips => {}
                _ => {
                    drop(guarded);
                    return self.change(key, Change::Dec);
                }
            }
        }
    }

    /// The worker of deferred keys, once: carries out what is due.
    fn work(&self, guarded: &mut Guarded) {
        for key in 0..self.keys.len() {
            if self.carry_out(key, guarded).is_err() && !self.rules.refused_stays_due {
                guarded.due[key] = false;
            }
            let due = guarded.due[key];
            assert!(!due || self.keys[key].word.load(Ordering::Relaxed) != 0, "a key is off, and a dec of it is due");
        }
    }

    /// `RawKey::carry_out`.
    fn carry_out(&self, key: usize, guarded: &mut Guarded) -> Return {
        if guarded.due[key] {
            if (self.rules.fast)(&self.keys[key].word, Change::Dec).is_none() {
                self.commit(&[(key, Change::Dec)], guarded)?;
            }
            guarded.due[key] = false;
        }
        Ok(())
    }

    /// `RawKey::seal`; what it left must never change.
    fn seal(&self, key: usize) -> Return {
        let word = &self.keys[key].word;
        let mut guarded = self.lock.lock().unwrap();
        if self.rules.seal_carries_out {
            self.carry_out(key, &mut guarded)?;
        }
        let result = (self.rules.seal)(word).map_err(Refusal::Misuse);
        assert!(result.is_err() || !guarded.due[key], "a key is sealed, and a dec of it is due");
        drop(guarded);
        if result.is_ok() {
            let sealed = word.load(Ordering::Relaxed);
            assert!(count::sealed(word), "a sealed key is open");
            assert!(self.keys[key].sites_are(count::users(sealed) > 0), "sites and sealed count disagree");
            loom::thread::yield_now();
            assert_eq!(sealed, word.load(Ordering::Relaxed), "a sealed key changed");
        }
        result
    }

    /// All threads are done: carries out what is due, and looks at what is left.
    #[must_use]
    pub fn finish(&self, results: Vec<Vec<Return>>) -> Outcome {
        for _ in 0..ROUNDS_OF_WORK {
            self.work(&mut self.lock.lock().unwrap());
        }
        let counts = [0, 1].map(|key| count::users(self.keys[key].word.load(Ordering::Acquire)));
        for (key, count) in self.keys.iter().zip(counts) {
            assert!(count >= 0, "count {count}");
            assert_eq!(key.is_enabled(), count > 0);
            assert!(key.sites_are(count > 0), "sites and count disagree");
        }
        Outcome { results, counts, sealed: [0, 1].map(|key| count::sealed(&self.keys[key].word)) }
    }
}
