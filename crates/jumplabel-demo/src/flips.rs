//! The flipping thread: turns the hooks on and off while the indexer runs, and times each transaction.
//!
//! ```text
//!  one by one   on 0, off 0, on 1, off 1, .. on 7, off 7
//!  in batches   all on, 3 arbitrary sets, all off
//!  the call     the loop's hash function is led to each other implementation, and back
//!  the mode     the loop's lookups are counted, checked, plain
//!  and again; there is a pause after each transaction
//! ```
//!
//! After each transaction this thread checks every key: each check must agree with the key's new state. It also calls the hash function, which must
//! be the new one, and runs a switch, which must take the arm of the new mode.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jumplabel::{Error, Outcome, Visibility};

use crate::hash::{HASH, HASHES};
use crate::hooks::{self, KEYS};
use crate::lookup::{self, LOOKUP, Lookup};

/// The pause between two transactions.
const PAUSE: Duration = Duration::from_millis(2);

/// The transactions of one period of flipping, and their times.
#[derive(Default)]
pub struct Flips {
    /// Times of the transactions that changed one key.
    pub single: Vec<Duration>,
    /// Times of the transactions that changed several keys.
    pub batches: Vec<Duration>,
    /// Times of the transactions that replaced the hash function by another implementation.
    pub calls: Vec<Duration>,
    /// Times of the transactions that set the mode of lookups.
    pub modes: Vec<Duration>,
    /// The number of keys that all transactions together changed.
    pub keys: u64,
    /// The number of sites whose instruction was rewritten.
    pub sites: u64,
    /// The writers that wrote the code: the name of each, with its number of transactions.
    pub writers: Vec<(&'static str, u64)>,
    /// True if the system refused core sync, so that other threads may have seen a flip late.
    pub eventual: bool,
    /// A description of each check that disagreed with its key.
    pub wrong: Vec<String>,
    /// The state of the keys: bit n for hook n.
    state: u8,
}

impl Flips {
    /// Goes through the transactions at the head of this file until the deadline, but at least once. At the end, all keys are off, the hash function
    /// is its default, and lookups are plain. Counts the transactions in `done`.
    pub fn until(deadline: Instant, done: &AtomicU64) -> Result<Flips, Error> {
        let mut flips = Flips::default();
        let mut arbitrary = fastrand::Rng::with_seed(1);
        loop {
            for (hook, key) in KEYS.iter().enumerate() {
                flips.transaction(1 << hook, done, || key.enable())?;
                flips.transaction(0, done, || key.disable())?;
            }
            for state in [u8::MAX, arbitrary.u8(..), arbitrary.u8(..), arbitrary.u8(..), 0] {
                flips.transaction(state, done, || hooks::set_keys(state))?;
            }
            for target in [1, 2, 0] {
                flips.retarget(HASHES[target], done)?;
            }
            for mode in [Lookup::Counted, Lookup::Checked, Lookup::Plain] {
                flips.choose(mode, done)?;
            }
            if Instant::now() >= deadline {
                return Ok(flips);
            }
        }
    }

    /// Makes one transaction that brings the keys to `state`.
    fn transaction(
        &mut self,
        state: u8,
        done: &AtomicU64,
        commit: impl FnOnce() -> Result<Outcome, Error>,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let outcome = commit()?;
        let time = start.elapsed();
        let checked = hooks::checked_keys();
        if checked != state {
            self.wrong.push(format!("checks right after a flip: {checked:08b} instead of {state:08b}"));
        }
        match (self.state ^ state).count_ones() {
            0 => {} // Two arbitrary sets in a row were the same.
            1 => self.single.push(time),
            _ => self.batches.push(time),
        }
        self.keys += u64::from((self.state ^ state).count_ones());
        self.state = state;
        self.note(&outcome);
        done.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
        Ok(())
    }

    /// Makes `target` the hash function.
    fn retarget(&mut self, target: fn(&[u8]) -> u64, done: &AtomicU64) -> Result<(), Error> {
        const WORD: &[u8] = b"Static_Calls";
        let start = Instant::now();
        let outcome = HASH.update(target)?;
        self.calls.push(start.elapsed());
        if HASH(WORD) != target(WORD) || !std::ptr::fn_addr_eq(HASH.query(), target) {
            self.wrong.push("the hash function is not the one that it was led to".into());
        }
        self.note(&outcome);
        done.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
        Ok(())
    }

    /// Sets the mode of lookups to `mode`.
    fn choose(&mut self, mode: Lookup, done: &AtomicU64) -> Result<(), Error> {
        let start = Instant::now();
        let outcome = LOOKUP.set(mode)?;
        self.modes.push(start.elapsed());
        let taken = lookup::taken();
        if taken != mode {
            self.wrong.push(format!("a switch right after its mode was set: {taken:?} instead of {mode:?}"));
        }
        self.note(&outcome);
        done.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
        Ok(())
    }

    fn note(&mut self, outcome: &Outcome) {
        self.sites += outcome.sites as u64;
        self.eventual |= outcome.visibility == Visibility::Eventual;
        let Some(name) = outcome.writer.map(|writer| writer.name()) else { return };
        match self.writers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => self.writers.push((name, 1)),
        }
    }
}
