//! Random sequences of changes, one by one and in batches, against a reference model; see [`model`].

#[path = "plan/model.rs"]
mod model;

use std::sync::Mutex;

use jumplabel::{Batch, for_each_site, static_branch_unlikely, static_key};
use model::{CAPACITY, Case, KEYS, Op, Rules};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

const CASES: u32 = if cfg!(miri) { 4 } else { 256 };

/// One test at a time uses the pool.
static FREE: Mutex<()> = Mutex::new(());

fn op() -> impl Strategy<Value = Op> {
    let key = || 0..KEYS;
    prop_oneof![
        4 => key().prop_map(Op::Enable),
        4 => key().prop_map(Op::Disable),
        4 => key().prop_map(Op::Inc),
        5 => key().prop_map(Op::Dec),
        2 => key().prop_map(Op::FastInc),
        2 => key().prop_map(Op::RestorePristine),
        1 => key().prop_map(Op::Seal),
        // Up to one more than the batch holds.
        8 => prop::collection::vec((key(), any::<bool>()), 0..=CAPACITY + 1).prop_map(Op::Batch),
    ]
}

fn run(rules: Rules) -> Result<(), TestError<Vec<Op>>> {
    let _free = FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&prop::collection::vec(op(), 0..24), |ops| {
        let mut case = Case::new(rules);
        let result = case.compare().and_then(|()| ops.iter().try_for_each(|op| case.step(op)));
        case.put_back();
        result.map_err(TestCaseError::fail)
    })
}

#[test]
fn agrees_with_the_model() {
    if let Err(error) = run(Rules::Right) {
        panic!("{error}");
    }
}

/// The broken twins: a model that breaks a rule does not agree.
#[test]
#[cfg_attr(miri, ignore = "takes more cases than there is time for")]
fn broken_models_are_found_out() {
    for rules in [Rules::FirstWins, Rules::HalfABatch, Rules::EnableCounts] {
        match run(rules) {
            Err(TestError::Fail(reason, ops)) => println!("{rules:?}: {reason} after {ops:?}"),
            other => panic!("{rules:?} agrees: {other:?}"),
        }
    }
}

/// A batch as large as it gets, of keys in any order, each named several times.
#[test]
fn a_large_batch() {
    static_key! { static MANY: [false; 300]; }
    let _free = FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut batch = Batch::<1024>::with_capacity();
    for turn in 0..3usize {
        for at in (0..MANY.len()).rev() {
            let at = at * 7 % MANY.len();
            batch = batch.set(&MANY[at], (at + turn).is_multiple_of(2));
        }
    }
    batch.commit().unwrap();
    for (at, key) in MANY.iter().enumerate() {
        assert_eq!((key.is_enabled(), key.count()), (at.is_multiple_of(2), i32::from(at.is_multiple_of(2))));
    }
}

static_key! { static SPREAD: [false; 48]; }

/// Functions with a site each, several on a page, on pages with even and odd numbers.
macro_rules! spread {
    ($($number:literal)*) => {
        fn checks() -> [fn() -> bool; 48] {
            $({
                #[inline(never)]
                fn check() -> bool {
                    if std::hint::black_box(false) {
                        // SAFETY: never executed.
                        unsafe { std::arch::asm!(".skip 400") };
                    }
                    static_branch_unlikely!(SPREAD[$number])
                }
                CHECKS.lock().unwrap().push(check as fn() -> bool);
            })*
            let mut checks = CHECKS.lock().unwrap();
            std::mem::take(&mut *checks).try_into().unwrap()
        }
    };
}
static CHECKS: Mutex<Vec<fn() -> bool>> = Mutex::new(Vec::new());
spread! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
}

/// The number of pages in an outcome, whichever sites a flip changes: the number of pages on which those sites begin.
#[test]
#[cfg_attr(miri, ignore = "no sites")]
fn pages_are_counted_once() {
    let _free = FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let page = jumplabel::platform::builtin().page_size();
    let checks = checks();
    let mut random = fastrand::Rng::with_seed(1);
    let mut most = 0;
    for _ in 0..200 {
        let wanted: Vec<bool> = SPREAD.iter().map(|key| key.is_enabled() ^ (random.u8(..3) == 0)).collect();
        let mut pages = std::collections::BTreeSet::new();
        for (key, _) in SPREAD.iter().zip(&wanted).filter(|(key, on)| key.is_enabled() != **on) {
            for_each_site(key, |site| _ = pages.insert(site.address / page)).unwrap();
        }
        let batch =
            SPREAD.iter().zip(&wanted).fold(Batch::<48>::with_capacity(), |batch, (key, on)| batch.set(key, *on));
        assert_eq!(batch.commit().unwrap().pages, pages.len());
        assert!(checks.iter().zip(&wanted).all(|(check, on)| check() == *on));
        most = most.max(pages.len());
    }
    assert!(most > 3 || page > 4096 || cfg!(not(jumplabel_sites)), "all on {most} pages");
}
