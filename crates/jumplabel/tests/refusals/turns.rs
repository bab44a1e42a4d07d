//! All patterns of refusals over all orders of writers, counted and not sampled: after each, the invariants must hold.
//!
//! ```text
//!   a call     to open a writer, to write in place, to sync, to put a copy in the place of the text
//!   a pattern  what the first 9 calls meet, and all later ones
//!   after it   Ok                the sites are new, and so is the count
//!              RollbackFailed    the count is old; flips fail like this until one may undo; then the sites are old
//!              another error     the sites are old, and so is the count
//! ```

#[path = "turns/pattern.rs"]
mod pattern;

use std::collections::BTreeMap;

use jumplabel::{Error, StaticKeyFalse};

use crate::scenario::{Scenario, passes};
use crate::twin::install;
use pattern::{Pattern, Turns};

// Three sites of each key.
crate::pages::pages! { sites: 2 keys, 6 sites, every 1 pages, at 0 }

/// The results of flips.
#[derive(Default)]
struct Tally {
    patterns: usize,
    results: BTreeMap<&'static str, usize>,
    /// Flips that failed with RollbackFailed, and left checks that differ from their keys.
    stuck: usize,
    /// Patterns after which something does not hold, and the first complaint.
    wrong: usize,
    first: Option<String>,
}

impl Tally {
    fn count(&mut self, result: Result<(), Error>) -> Result<(), String> {
        let name = match result {
            Ok(()) => "Ok",
            Err(Error::Denied { .. }) => "Denied",
            Err(Error::MultiThreaded { .. }) => "MultiThreaded",
            Err(Error::RollbackFailed { .. }) => "RollbackFailed",
            Err(error) => return Err(format!("{error:?}")),
        };
        *self.results.entry(name).or_default() += 1;
        Ok(())
    }

    /// Flips `key`, and looks at all checks.
    fn flip(&mut self, key: &StaticKeyFalse, on: bool) -> Result<(), String> {
        let was = key.is_enabled();
        let result = set(key, on);
        self.count(result)?;
        let agree = sites().agree();
        match result {
            _ if key.is_enabled() != if result.is_ok() { on } else { was } => {
                Err(format!("{result:?}, and the count is wrong"))
            }
            Err(Error::RollbackFailed { .. }) => {
                self.stuck += usize::from(!agree);
                Ok(())
            }
            _ if agree => Ok(()),
            _ => Err(format!("{result:?}, and checks differ from their keys")),
        }
    }

    /// Runs `flips` under each pattern. They start with all keys at `on`, primed or pristine.
    fn under_each_pattern(&mut self, on: bool, primed: bool, flips: impl Fn(&mut Tally) -> Result<(), String>) {
        let mut patterns = Pattern::firsts();
        let mut next = patterns.next();
        while let Some(pattern) = next {
            Pattern::NOTHING.begin();
            sites().set(on).unwrap();
            if !primed {
                sites().restore_pristine();
            }
            pattern.begin();
            let held = flips(self);
            next = pattern.next().or_else(|| patterns.next());
            let held = held.and_then(|()| is_restored());
            self.patterns += 1;
            if let Err(complaint) = held {
                self.wrong += 1;
                self.first.get_or_insert(format!("{pattern:?}, on {on}, primed {primed}: {complaint}"));
            }
        }
    }

    #[track_caller]
    fn end(self) {
        println!("{} patterns, {:?}, {} stuck", self.patterns, self.results, self.stuck);
        assert_eq!(self.wrong, 0, "of {} patterns; the first: {}", self.patterns, self.first.unwrap());
        let reached = ["Denied", "Ok", "RollbackFailed"].iter().all(|result| self.results.contains_key(result));
        assert!(reached && self.stuck > 0, "not reached");
    }
}

fn set(key: &StaticKeyFalse, on: bool) -> Result<(), Error> {
    if on { key.enable() } else { key.disable() }.map(drop)
}

/// If sites were stuck, flips fail until one is allowed to undo. Then all sites do what their keys say.
fn is_restored() -> Result<(), String> {
    let agree = sites().agree();
    Pattern::EVERYTHING.begin();
    for key in sites().keys {
        let result = set(key, !key.is_enabled());
        if result.is_ok() || (!agree && !matches!(result, Err(Error::RollbackFailed { .. }))) {
            return Err(format!("nothing may be written, and a flip says {result:?}"));
        }
    }
    Pattern::NOTHING.begin();
    let restored = jumplabel::text_reserved(0..1); // takes the lock
    if restored.is_ok() && sites().agree() { Ok(()) } else { Err(format!("not restored: {restored:?}")) }
}

/// One flip of each kind.
fn one_flip(platform: Turns) {
    install(platform);
    let mut tally = Tally::default();
    for (on, primed) in [(true, true), (false, true), (false, false)] {
        tally.under_each_pattern(on, primed, |tally| tally.flip(&sites().keys[0], !on));
    }
    tally.end();
}

#[test]
fn one_flip_under_each_pattern() {
    passes(|| one_flip(Turns::new(false)));
}

/// The engine once did this: it counted an undo before the writer that carried the undo had put it in place.
#[test]
fn broken_twin_believes_in_an_undo_that_was_refused() {
    Scenario::new().fails("checks differ from their keys", || {
        one_flip(Turns::new(true));
    });
}

/// Two keys in turn: one flip begins with the bytes that the flip before has left.
#[test]
fn two_keys_under_each_pattern() {
    passes(|| {
        install(Turns::new(false));
        let mut tally = Tally::default();
        for (on, primed) in [(true, true), (false, true), (false, false)] {
            tally.under_each_pattern(on, primed, |tally| {
                [!on, on].iter().try_for_each(|&to| sites().keys.iter().try_for_each(|key| tally.flip(key, to)))
            });
        }
        tally.end();
    });
}

/// Two threads, each with a key of its own, in whatever order they come.
#[test]
fn two_threads_under_each_pattern() {
    passes(|| {
        install(Turns::new(false));
        let mut tally = Tally::default();
        tally.under_each_pattern(false, true, |tally| {
            // At the end, a key has the state of its last flip that succeeded.
            let flips = |key: &'static StaticKeyFalse| move || [true, false, true].map(|on| (on, set(key, on)));
            let results = std::thread::scope(|scope| {
                let threads = [0, 1].map(|at| scope.spawn(flips(&sites().keys[at])));
                threads.map(|thread| thread.join().unwrap())
            });
            for (key, results) in sites().keys.iter().zip(results) {
                results.iter().try_for_each(|&(_, result)| tally.count(result))?;
                let last = results.iter().rfind(|(_, result)| result.is_ok()).is_some_and(|&(on, _)| on);
                if key.is_enabled() != last {
                    return Err(format!("{results:?}, and the count is wrong"));
                }
            }
            tally.stuck += usize::from(!sites().agree());
            Ok(())
        });
        tally.end();
    });
}
