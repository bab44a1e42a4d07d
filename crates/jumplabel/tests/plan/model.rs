//! The reference model: the states that keys should have after a sequence of changes, in plain numbers. It is compared with the real states:
//! results, counts, what the checks yield, what the sites hold.
//!
//! A process has one set of statics, and a sealed key stays sealed, so that each case takes fresh keys from a pool, and
//! leaves those that it did not seal in their default state.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::LazyLock;

use jumplabel::arch::Native;
use jumplabel::{
    Batch, Error, Outcome, RawKey, for_each_site, restore_pristine, static_branch_likely, static_branch_unlikely,
};
use jumplabel_format::{Arch, State};

/// Keys of each kind and default.
const POOL: usize = 64;
/// Sites of a key, none in the fallback; a naked key has its function.
const SITES: usize = if Native::SIZE > 0 { 2 } else { 0 };
const NAKED_SITES: usize = SITES / 2;

mod pool {
    jumplabel::static_key! {
        pub static OFF: [false; 64];
        pub static ON: [true; 64];
    }
}
use pool::{OFF, ON};

/// A function that returns the results of a key's checks.
type Check = fn() -> [bool; 2];
/// A key of the pool, and its checks.
type Place = (fn() -> &'static RawKey, Check);

fn off<const N: usize>() -> Place {
    (|| &OFF[N], || [static_branch_likely!(OFF[N]), static_branch_unlikely!(OFF[N])])
}

fn on<const N: usize>() -> Place {
    (|| &ON[N], || [static_branch_likely!(ON[N]), static_branch_unlikely!(ON[N])])
}

macro_rules! places {
    ($place:ident, $($at:literal)*) => { vec![$(
        $place::<{ $at }>(), $place::<{ $at + 1 }>(), $place::<{ $at + 2 }>(), $place::<{ $at + 3 }>(),
        $place::<{ $at + 4 }>(), $place::<{ $at + 5 }>(), $place::<{ $at + 6 }>(), $place::<{ $at + 7 }>(),
    )*] };
}

/// A naked key in a block of its own for each word: 8 for each one in the list.
macro_rules! naked {
    ($default:literal, $($eight:ident)*) => { [$(naked!(@ $eight $default, 0 1 2 3 4 5 6 7),)*].concat() };
    (@ $eight:ident $default:literal, $($one:literal)*) => { [$({
        jumplabel::naked_key! { static KEY: $default; }
        let place: Place = (|| &KEY, || [KEY.get(), KEY.get()]);
        let _ = (stringify!($eight), $one);
        place
    },)*] };
}

/// The kinds, in the order of the keys of a case: the default, whether they are naked, the places.
static POOLS: LazyLock<[(bool, bool, Vec<Place>); 4]> = LazyLock::new(|| {
    [
        (false, false, places!(off, 0 8 16 24 32 40 48 56)),
        (true, false, places!(on, 0 8 16 24 32 40 48 56)),
        (false, true, naked!(false, a b c d e f g h)),
        (true, true, naked!(true, a b c d e f g h)),
    ]
});

/// Keys of a case: two that start off, two that start on, two naked ones that start off, two that start on.
pub const KEYS: usize = 8;

#[derive(Clone, Debug)]
pub enum Op {
    Enable(usize),
    Disable(usize),
    Inc(usize),
    Dec(usize),
    FastInc(usize),
    RestorePristine(usize),
    Seal(usize),
    Batch(Vec<(usize, bool)>),
}

/// Changes that a batch holds.
pub const CAPACITY: usize = 6;

/// The first difference, in words.
pub type Compared = Result<(), String>;

fn same<T: PartialEq + Debug>(what: &str, is: T, should: T) -> Compared {
    if is == should { Ok(()) } else { Err(format!("{what}: {is:?} instead of {should:?}")) }
}

/// The state that a key should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Model {
    count: i32,
    sealed: bool,
}

impl Model {
    /// The count after enable or disable.
    fn set(self, on: bool) -> Result<i32, Error> {
        match self.count {
            count if on == (count > 0) && (count < 2 || self.sealed) => Ok(count),
            _ if self.sealed => Err(Error::Sealed),
            0 | 1 => Ok(i32::from(on)),
            count => Err(Error::Counted { count }),
        }
    }

    /// The count after inc or dec.
    fn add(self, users: i32) -> Result<i32, Error> {
        match self.count + users {
            _ if self.sealed => Err(Error::Sealed),
            -1 => Err(Error::Underflow),
            count => Ok(count),
        }
    }
}

/// A rule that the model may break, to show that the comparison finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    Right,
    FirstWins,
    HalfABatch,
    EnableCounts,
}

/// The key, where it is in the pool, and what it should be.
struct Key {
    raw: &'static RawKey,
    check: Check,
    sites: usize,
    model: Model,
}

pub struct Case {
    keys: Vec<Key>,
    rules: Rules,
    /// Sealing stops where the pool runs dry.
    may_seal: bool,
}

impl Case {
    pub fn new(rules: Rules) -> Case {
        let mut keys = Vec::new();
        let mut left = usize::MAX;
        for (default, naked, places) in &*POOLS {
            let open: Vec<&Place> = places.iter().filter(|(raw, _)| !raw().is_sealed()).collect();
            left = left.min(open.len());
            keys.extend(open[..KEYS / POOLS.len()].iter().map(|(raw, check)| Key {
                raw: raw(),
                check: *check,
                sites: if *naked { NAKED_SITES } else { SITES },
                model: Model { count: i32::from(*default), sealed: false },
            }));
        }
        assert!(POOLS.iter().all(|(_, _, places)| places.len() == POOL));
        Case { keys, rules, may_seal: left > KEYS }
    }

    /// Does `op`, and compares the results.
    pub fn step(&mut self, op: &Op) -> Compared {
        let before: Vec<Model> = self.keys.iter().map(|key| key.model).collect();
        match *op {
            Op::Enable(at) if self.rules == Rules::EnableCounts => self.one(at, |it| it.add(1), RawKey::enable)?,
            Op::Enable(at) => self.one(at, |model| model.set(true), RawKey::enable)?,
            Op::Disable(at) => self.one(at, |model| model.set(false), RawKey::disable)?,
            Op::Inc(at) => self.one(at, |model| model.add(1), RawKey::inc)?,
            Op::Dec(at) => self.one(at, |model| model.add(-1), RawKey::dec)?,
            Op::FastInc(at) => {
                let key = &mut self.keys[at];
                let expected = key.model.count > 0 && !key.model.sealed;
                same("fast inc", key.raw.fast_inc_not_disabled(), expected)?;
                key.model.count += i32::from(expected);
            }
            Op::RestorePristine(at) => {
                let Key { raw: key, sites, .. } = self.keys[at];
                restore_pristine(key).map_err(|error| error.to_string())?;
                let mut primed = 0;
                let visited = for_each_site(key, |site| {
                    let emitted = |state: State| state == state.as_emitted::<Native>();
                    primed += usize::from(!site.state.is_some_and(emitted));
                });
                same("sites that restore_pristine left primed", (visited, primed), (Ok(sites), 0))?;
            }
            Op::Seal(at) if self.may_seal => {
                same("seal", self.keys[at].raw.seal(), Ok(()))?;
                self.keys[at].model.sealed = true;
            }
            Op::Seal(_) => {}
            Op::Batch(ref changes) => self.batch(&before, changes)?,
        }
        self.compare()
    }

    fn one(
        &mut self,
        at: usize,
        expect: impl FnOnce(Model) -> Result<i32, Error>,
        change: fn(&RawKey) -> Result<Outcome, Error>,
    ) -> Compared {
        let key = &mut self.keys[at];
        let expected = expect(key.model);
        let result = change(key.raw);
        same("result", result.map(drop), expected.map(drop))?;
        if let (Ok(outcome), Ok(count)) = (result, expected) {
            let flipped = (count > 0) != (key.model.count > 0);
            key.model.count = count;
            compare_outcome(&outcome, if flipped { key.sites } else { 0 })?;
        }
        Ok(())
    }

    fn batch(&mut self, before: &[Model], changes: &[(usize, bool)]) -> Compared {
        let mut batch = Batch::<CAPACITY>::with_capacity();
        for &(at, on) in changes {
            batch = batch.set(self.keys[at].raw, on);
        }
        let result = batch.commit();
        if changes.len() > CAPACITY {
            return same("result", result, Err(Error::BatchFull { capacity: CAPACITY }));
        }
        let mut last = BTreeMap::new();
        for &(at, on) in changes {
            match self.rules {
                Rules::FirstWins => drop(last.entry(at).or_insert(on)),
                _ => drop(last.insert(at, on)),
            }
        }
        let counts: BTreeMap<usize, _> = last.iter().map(|(&at, &on)| (at, before[at].set(on))).collect();
        let refusals: Vec<Error> = counts.values().filter_map(|count| count.err()).collect();
        match result {
            Ok(_) => same("refusals of a batch that succeeded", refusals, vec![])?,
            Err(error) if refusals.contains(&error) => {}
            Err(error) => return Err(format!("batch: {error:?} instead of {refusals:?}")),
        }
        let mut flipped = 0;
        for (at, count) in counts {
            if let (Ok(count), true) = (count, result.is_ok() || self.rules == Rules::HalfABatch) {
                flipped += if (count > 0) != (before[at].count > 0) { self.keys[at].sites } else { 0 };
                self.keys[at].model.count = count;
            }
        }
        result.map_or(Ok(()), |outcome| compare_outcome(&outcome, flipped))
    }

    /// All keys, their checks and their sites.
    pub fn compare(&self) -> Compared {
        for key in &self.keys {
            let Model { count, sealed } = key.model;
            let on = count > 0;
            let is = (key.raw.count(), key.raw.is_enabled(), key.raw.is_sealed());
            same("count, enabled, sealed", is, (count, on, sealed))?;
            same("checks", (key.check)(), [on; 2])?;
            let mut agree = 0;
            let sites = for_each_site(key.raw, |site| {
                agree += usize::from(site.state.is_some_and(|state| state.falls_through() == (site.arm == on)));
            });
            same("sites, and how many agree", (sites, agree), (Ok(key.sites), key.sites))?;
        }
        Ok(())
    }

    /// Leaves the keys that are not sealed as they were declared.
    pub fn put_back(&self) {
        for key in self.keys.iter().filter(|key| !key.raw.is_sealed()) {
            while key.raw.count() > 1 {
                key.raw.dec().unwrap();
            }
            Batch::new().set(key.raw, key.raw.default_state()).commit().unwrap();
        }
    }
}

/// Compares an outcome with that of a flip of `flipped` sites.
fn compare_outcome(outcome: &Outcome, flipped: usize) -> Compared {
    same("sites flipped", outcome.sites, flipped)?;
    same("more primed than flipped", outcome.primed > outcome.sites, false)?;
    same("more pages than sites", outcome.pages > outcome.sites, false)?;
    same("whether something wrote", outcome.writer.is_some(), outcome.sites > 0)
}
