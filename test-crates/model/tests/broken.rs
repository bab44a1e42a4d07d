//! Broken twins: the counter, the lock and the counting of readers with one rule broken each. Loom must find an interleaving that shows it, or the
//! other tests show nothing.
//!
//! Each twin runs in a process of its own, because a model that panics in the middle of an interleaving may abort.

use std::process::Command;

use jumplabel_model::atomic::{AtomicI32, Ordering};
use jumplabel_model::count::Change::{Dec, Disable, Enable, Inc};
use jumplabel_model::count::{self, Change, Misuse, Transition};
use jumplabel_model::exclusion::{self, Broken};
use jumplabel_model::rules::Rules;
use jumplabel_model::readers::{self, Frees};
use jumplabel_model::spec::{Op, Program};
use jumplabel_model::{check, check_reader};

/// Going off without LEAVING: the lock-free way stays open while the sites are patched, and `publish` stores over it.
mod no_leaving {
    use super::*;

    pub fn begin(word: &AtomicI32, change: Change) -> Result<Transition, Misuse> {
        let transition = count::begin(word, change)?;
        if transition == Transition::TurnOff {
            word.store(1, Ordering::Release);
        }
        Ok(transition)
    }

    pub fn publish(word: &AtomicI32, transition: Transition) {
        match transition {
            Transition::TurnOff => word.store(0, Ordering::Release),
            other => count::publish(word, other),
        }
    }
}

/// Linux's order on the way off: 0 before the sites are patched.
fn begin_zero_early(word: &AtomicI32, change: Change) -> Result<Transition, Misuse> {
    let transition = count::begin(word, change)?;
    if transition == Transition::TurnOff {
        word.store(0, Ordering::Release);
    }
    Ok(transition)
}

fn fast_from_zero(word: &AtomicI32, change: Change) -> Option<()> {
    let from_zero = || word.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).ok().map(drop);
    count::fast(word, change).or_else(|| if change == Change::Inc { from_zero() } else { None })
}

fn fast_to_zero(word: &AtomicI32, change: Change) -> Option<()> {
    let to_zero = || word.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed).ok().map(drop);
    count::fast(word, change).or_else(|| if change == Change::Dec { to_zero() } else { None })
}

fn fast_without_acquire(word: &AtomicI32, change: Change) -> Option<()> {
    let now = word.load(Ordering::Relaxed);
    if change != Change::Inc || now <= 0 {
        return count::fast(word, change);
    }
    word.compare_exchange(now, now + 1, Ordering::Relaxed, Ordering::Relaxed).ok().map(drop)
}

fn fast_by_load_and_store(word: &AtomicI32, change: Change) -> Option<()> {
    match (change, word.load(Ordering::Acquire)) {
        (Change::Inc, now @ 1..=9) => word.store(now + 1, Ordering::Release),
        (Change::Dec, now @ 2..) => word.store(now - 1, Ordering::Release),
        _ => return None,
    }
    Some(())
}

fn publish_without_release(word: &AtomicI32, transition: Transition) {
    match transition {
        Transition::TurnOn => word.store(1, Ordering::Relaxed),
        other => count::publish(word, other),
    }
}

fn never_abandon(_word: &AtomicI32) {}

/// A user that comes is counted before the sites of the other keys are patched. If they are refused, nobody counts the user off.
mod counted_early {
    use super::*;

    pub fn begin(word: &AtomicI32, change: Change) -> Result<Transition, Misuse> {
        let transition = count::begin(word, change)?;
        if transition == Transition::Join {
            count::add(word);
            return Ok(Transition::Done);
        }
        Ok(transition)
    }
}

fn seal_by_load_and_store(word: &AtomicI32) -> Result<(), Misuse> {
    let now = word.load(Ordering::Acquire);
    if now >= 0 {
        word.store(i32::MIN + now, Ordering::Release);
    }
    Ok(())
}

/// A deferred dec as Linux has it: it takes whoever is counted when it is due.
fn clears_never(_change: Change, _transition: Transition) -> bool {
    false
}

fn clears_without_enable(_change: Change, transition: Transition) -> bool {
    transition == Transition::TurnOff
}

fn clears_without_going_off(change: Change, _transition: Transition) -> bool {
    change == Change::Enable
}

const INC: Op = Op::Change(0, Inc);
const DEC: Op = Op::Change(0, Dec);
const ON: Op = Op::Change(0, Enable);
const OFF: Op = Op::Change(0, Disable);
const LATE: Op = Op::DecDeferred(0);

fn run(rules: Rules, start: i32, refuse: Option<usize>, threads: &[&[Op]]) -> u64 {
    let threads = threads.iter().map(|ops| ops.to_vec()).collect();
    check(rules, &Program { start: [start, 0], refuse, threads }, Some(4))
}

/// The first key has two users, the second none, and the first patch is refused.
fn pair(rules: Rules, threads: &[&[Op]]) -> u64 {
    let threads = threads.iter().map(|ops| ops.to_vec()).collect();
    check(rules, &Program { start: [2, 0], refuse: Some(1), threads }, Some(4))
}

/// A name, what loom must say, and the run in which it must say it. The runs of the counter with a program that only the
/// fault can break: [`sound`] runs them with the core's rules.
type Twin = (&'static str, &'static str, fn(Rules) -> u64, Rules);

const CORE: Rules = Rules::CORE;

#[rustfmt::skip]
const COUNTERS: [Twin; 20] = [
    ("no leaving", "disagree", |r| run(r, 0, None, &[&[INC, DEC], &[INC, DEC]]),
        Rules { begin: no_leaving::begin, publish: no_leaving::publish, ..CORE }),
    ("zero before patch", "runs ahead", |r| check_reader(r, 1, None, [OFF, OFF]),
        Rules { begin: begin_zero_early, ..CORE }),
    ("fast inc from zero", "held is off", |r| run(r, 0, None, &[&[INC, DEC], &[INC]]),
        Rules { fast: fast_from_zero, ..CORE }),
    ("fast dec to zero", "disagree", |r| run(r, 1, None, &[&[DEC], &[ON]]),
        Rules { fast: fast_to_zero, ..CORE }),
    ("fast inc without acquire", "held is off", |r| run(r, 0, None, &[&[INC], &[INC]]),
        Rules { fast: fast_without_acquire, ..CORE }),
    ("fast inc by load and store", "came to", |r| run(r, 1, None, &[&[INC], &[INC]]),
        Rules { fast: fast_by_load_and_store, ..CORE }),
    ("publish before patch", "held is off", |r| run(r, 0, None, &[&[INC], &[INC]]),
        Rules { publish_after_patch: false, ..CORE }),
    ("one before patch", "runs ahead", |r| check_reader(r, 0, None, [ON, ON]),
        Rules { publish_after_patch: false, ..CORE }),
    ("publish without release", "held is off", |r| run(r, 0, None, &[&[INC], &[INC]]),
        Rules { publish: publish_without_release, ..CORE }),
    ("refused and not abandoned", "came to", |r| run(r, 1, Some(1), &[&[OFF, Op::FastInc(0)]]),
        Rules { abandon: never_abandon, ..CORE }),
    ("refused, and a user is not counted again", "came to", |r| pair(r, &[&[Op::Batch(&[(0, Dec), (1, Enable)])]]),
        Rules { add: never_abandon, ..CORE }),
    ("refused, and a user is counted", "came to", |r| pair(r, &[&[Op::Batch(&[(0, Inc), (1, Enable)])]]),
        Rules { begin: counted_early::begin, ..CORE }),
    ("seal by load and store", "a sealed key is open", |r| run(r, 1, None, &[&[Op::Seal(0)], &[INC]]),
        Rules { seal: seal_by_load_and_store, ..CORE }),
    ("refused deferred dec forgotten", "came to", |r| run(r, 1, Some(1), &[&[Op::DecDeferred(0)], &[Op::Work]]),
        Rules { refused_stays_due: false, ..CORE }),
    ("deferred dec flips", "came to", |r| run(r, 1, Some(1), &[&[INC, DEC], &[Op::DecDeferred(0)]]),
        Rules { deferred_never_flips: false, ..CORE }),
    ("deferred dec takes the enabler's place", "came to", |r| run(r, 1, None, &[&[LATE, ON], &[Op::Work]]),
        Rules { clears_due: clears_without_enable, ..CORE }),
    ("due after disable", "a key is off", |r| run(r, 1, None, &[&[LATE, OFF], &[Op::Work]]),
        Rules { clears_due: clears_without_going_off, ..CORE }),
    ("due after dec", "a key is off", |r| run(r, 1, None, &[&[LATE, DEC], &[Op::Work]]),
        Rules { clears_due: clears_without_going_off, ..CORE }),
    ("deferred dec takes a later user", "came to", |r| run(r, 1, None, &[&[LATE, OFF, INC]]),
        Rules { clears_due: clears_never, ..CORE }),
    ("sealed and due", "a key is sealed", |r| run(r, 1, None, &[&[LATE], &[Op::Seal(0)]]),
        Rules { seal_carries_out: false, ..CORE }),
];

type OtherTwin = (&'static str, &'static str, fn() -> u64);

const OTHERS: [OtherTwin; 6] = [
    ("release without release", "Causality violation", || exclusion::check::<Broken<1>>(2, 1, None)),
    ("mark lost", "deadlock", || exclusion::check::<Broken<2>>(3, 1, Some(3))),
    ("sleeper without mark", "deadlock", || exclusion::check::<Broken<3>>(2, 1, None)),
    ("sleep without compare", "deadlock", || exclusion::check::<Broken<4>>(2, 1, None)),
    ("freed at once", "in a list that is freed", || readers::check(Frees::AtOnce, 1, None)),
    ("one word is enough", "in a list that is freed", || readers::check(Frees::SeenOne, 1, None)),
];

const WHICH: &str = "JUMPLABEL_TWIN";

/// Only in a child: runs the twin that the variable names, and comes to a bad end.
#[test]
fn twin() {
    let Ok(name) = std::env::var(WHICH) else { return };
    for (twin, _, run, rules) in COUNTERS {
        if twin == name {
            run(rules);
        }
    }
    for (twin, _, run) in OTHERS {
        if twin == name {
            run();
        }
    }
}

#[test]
fn each_twin_is_caught() {
    let counters = COUNTERS.map(|(name, says, ..)| (name, says));
    let others = OTHERS.map(|(name, says, _)| (name, says));
    for (name, says) in counters.into_iter().chain(others) {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["twin", "--exact", "--nocapture"])
            .env(WHICH, name)
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(!child.status.success(), "{name}: not caught");
        assert!(said.contains(says), "{name}: caught for another reason: {said}");
        println!("caught: {name}");
    }
}

/// The same programs with the core's rules, and the same lock without a fault: what was caught was the fault.
#[test]
fn sound() {
    for (name, _, run, _) in COUNTERS {
        println!("{name}: {} interleavings", run(CORE));
    }
    println!("lock: {} interleavings", exclusion::check::<Broken<0>>(2, 1, None));
    println!("lock: {} interleavings", exclusion::check::<Broken<0>>(3, 1, Some(3)));
}
