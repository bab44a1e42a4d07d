//! The counter against the specification: every program of a size. In every interleaving for the smallest programs, the
//! batches and the reader; with a bound on preemptions, the last argument of `check_all`, for the others.

use jumplabel_model::count::Change::{Dec, Disable, Enable, Inc};
use jumplabel_model::rules::Rules;
use jumplabel_model::spec::{Op, Program};
use jumplabel_model::{check, check_reader};

const ALL: [Op; 8] = [
    Op::Change(0, Inc),
    Op::Change(0, Dec),
    Op::Change(0, Enable),
    Op::Change(0, Disable),
    Op::DecDeferred(0),
    Op::Work,
    Op::FastInc(0),
    Op::Seal(0),
];

/// All sequences of `len` operations.
fn sequences(ops: &[Op], len: usize) -> Vec<Vec<Op>> {
    (0..len).fold(vec![vec![]], |all, _| {
        all.iter().flat_map(|shorter| ops.iter().map(move |&op| [&shorter[..], &[op]].concat())).collect()
    })
}

/// All programs whose threads have `lens` operations, at each start, without and with a refused patch. Threads of the same
/// length are interchangeable.
fn check_all(ops: &[Op], lens: &[usize], starts: &[i32], refusals: &[Option<usize>], preemptions: Option<usize>) {
    let mut programs: Vec<Vec<(usize, Vec<Op>)>> = vec![vec![]];
    for (at, &len) in lens.iter().enumerate() {
        programs = programs
            .iter()
            .flat_map(|threads| {
                let least = if at > 0 && lens[at - 1] == len { threads[at - 1].0 } else { 0 };
                let choices = sequences(ops, len).into_iter().enumerate().skip(least);
                choices.map(move |ops| [&threads[..], &[ops]].concat())
            })
            .collect();
    }
    let (mut checked, mut interleavings) = (0, 0);
    for threads in programs {
        let threads: Vec<Vec<Op>> = threads.into_iter().map(|(_, ops)| ops).collect();
        for &start in starts {
            for &refuse in refusals {
                let program = Program { start: [start, 0], refuse, threads: threads.clone() };
                interleavings += check(Rules::CORE, &program, preemptions);
                checked += 1;
            }
        }
    }
    println!("{lens:?}: {checked} programs, {interleavings} interleavings");
}

#[test]
fn two_threads_of_one() {
    check_all(&ALL, &[1, 1], &[0, 1, 2, i32::MAX], &[None, Some(1), Some(2)], None);
}

#[test]
fn two_threads_of_one_and_two() {
    check_all(&ALL, &[1, 2], &[0, 1, 2], &[None, Some(1)], Some(3));
}

#[test]
fn two_threads_of_two() {
    check_all(&ALL[..5], &[2, 2], &[0, 1], &[None], Some(2));
}

#[test]
fn three_threads_of_one() {
    check_all(&ALL, &[1, 1, 1], &[0, 1, 2], &[None, Some(1)], Some(2));
}

/// A dec is deferred, and others come and go before it is due, and afterwards.
#[test]
fn deferred() {
    check_all(&ALL, &[3], &[0, 1, 2], &[None, Some(1), Some(2)], None);
    const AFTER: [Op; 6] =
        [INC, Op::Change(0, Enable), Op::Change(0, Disable), Op::DecDeferred(0), Op::Work, Op::Seal(0)];
    let (mut programs, mut interleavings) = (0, 0);
    for others in sequences(&AFTER, 2) {
        for own in AFTER {
            for refuse in [None, Some(1)] {
                let threads = vec![vec![Op::DecDeferred(0), own], others.clone()];
                interleavings += check(Rules::CORE, &Program { start: [1, 0], refuse, threads }, Some(3));
                programs += 1;
            }
        }
    }
    println!("{programs} programs, {interleavings} interleavings");
}

const INC: Op = Op::Change(0, Inc);
const DEC: Op = Op::Change(0, Dec);

/// The promise of `inc`, on threads that take and give back in every way there is.
#[test]
fn holders() {
    let lives = [[INC, DEC], [INC, Op::DecDeferred(0)], [Op::FastInc(0), DEC], [Op::FastInc(0), Op::DecDeferred(0)]];
    let mut interleavings = 0;
    let mut hold = |threads: &[[Op; 2]], refuse, preemptions| {
        let program = Program { start: [0; 2], refuse, threads: threads.iter().map(|ops| ops.to_vec()).collect() };
        assert!(program.is_orderly());
        interleavings += check(Rules::CORE, &program, preemptions);
    };
    for (at, &a) in lives.iter().enumerate() {
        for &b in &lives[at..] {
            for refuse in [None, Some(1), Some(2)] {
                hold(&[a, b], refuse, Some(2));
            }
        }
    }
    hold(&[lives[0]; 3], None, Some(1));
    hold(&[lives[0], lives[1], lives[2]], None, Some(1));
    println!("{interleavings} interleavings");
}

/// Two keys: all or nothing, whether a counter or the system refuses, while another thread uses one of them.
#[test]
fn batches() {
    let batches = [
        Op::Batch(&[(0, Enable), (1, Disable)]),
        Op::Batch(&[(0, Disable), (1, Enable)]),
        Op::Batch(&[(0, Disable), (1, Disable)]),
        Op::Batch(&[(0, Enable), (1, Enable)]),
        Op::Batch(&[(0, Inc), (1, Enable)]),
        Op::Batch(&[(0, Dec), (1, Inc)]),
    ];
    let second = |key| {
        let alone = [Inc, Dec, Enable, Disable].map(|change| vec![Op::Change(key, change)]);
        let several = [vec![Op::Seal(key)], vec![Op::FastInc(key), Op::Change(key, Dec)], vec![Op::DecDeferred(key)]];
        alone.into_iter().chain(several)
    };
    let mut interleavings = 0;
    for start in [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [2, 1]] {
        for refuse in [None, Some(1)] {
            for first in batches {
                let others = second(0).chain(second(1)).chain(batches.map(|batch| vec![batch]));
                for other in others {
                    let program = Program { start, refuse, threads: vec![vec![first], other] };
                    interleavings += check(Rules::CORE, &program, None);
                }
            }
        }
    }
    println!("{interleavings} interleavings");
}

/// `is_enabled` becomes true after all sites are on, and false after all sites are off.
#[test]
fn is_enabled_does_not_run_ahead() {
    let mut interleavings = 0;
    const ON: Op = Op::Change(0, Enable);
    const OFF: Op = Op::Change(0, Disable);
    for (start, ops) in [(0, [INC; 2]), (0, [ON; 2]), (1, [DEC; 2]), (1, [OFF; 2]), (2, [DEC; 2])] {
        for refuse in [None, Some(1)] {
            interleavings += check_reader(Rules::CORE, start, refuse, ops);
        }
    }
    println!("{interleavings} interleavings");
}
