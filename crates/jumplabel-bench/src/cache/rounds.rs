//! Runs rounds. In a round, every way of every program runs once in every loop. The order is random. It is the same for all processors, and all
//! processors begin each loop together.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jumplabel_testing::clock::{move_to, processors};

use super::fill::Fill;
use super::loops::{self, LOOPS, Loop};
use super::ways::{PROGRAMS, Program, WAYS, Way};
use crate::samples::Samples;

/// The times of a way in a loop.
pub struct Row {
    pub program: Program,
    pub shape: Loop,
    pub way: Way,
    /// Nanoseconds of a check.
    pub check: Samples,
    /// Nanoseconds of the whole loop.
    pub whole: Samples,
}

/// The times of all rows, from rounds on some processors.
pub struct Measured {
    pub processors: usize,
    pub rounds: usize,
    rows: Vec<Row>,
}

impl Measured {
    pub fn find(&self, program: Program, shape: Loop, way: Way) -> &Row {
        let is = |row: &&Row| row.program == program && row.shape == shape && row.way == way;
        self.rows.iter().find(is).expect("all are in the list")
    }

    /// Nanoseconds of a check minus those of the constant in the same round: the median, and the ends of its interval.
    pub fn more_than_constant(&self, row: &Row) -> [f64; 3] {
        let more = row.check.minus(&self.find(row.program, row.shape, Way::Constant).check);
        let [from, to] = more.interval();
        [more.median(), from, to]
    }
}

/// Rows for all combinations of program, loop and way.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for program in PROGRAMS {
        for shape in LOOPS {
            for way in WAYS {
                rows.push(Row { program, shape, way, check: Samples::default(), whole: Samples::default() });
            }
        }
    }
    rows
}

/// Runs rounds on all of these processors at once.
pub fn measure(on: &[usize], quick: bool) -> Measured {
    let budget = crate::samples::budget(if quick { 2 } else { 40 });
    let (barrier, stop, seed) = (Barrier::new(on.len()), AtomicBool::new(false), fastrand::u64(..));
    let (start, nanoseconds) = (Instant::now(), loops::nanoseconds());
    let work = |processor: usize| {
        move_to(&[processor]);
        let (fill, mut rows, mut random) = (Fill::new(), rows(), fastrand::Rng::with_seed(seed));
        let mut turns: Vec<usize> = (0..rows.len()).collect();
        while !stop.load(Ordering::Acquire) {
            random.shuffle(&mut turns);
            for &at in &turns {
                let row = &mut rows[at];
                let Some(run) = row.program.run(row.way) else { continue };
                barrier.wait();
                let ticks = row.shape.run(run, &fill, quick);
                row.check.push(ticks.checks as f64 * nanoseconds / row.shape.checks(quick) as f64);
                row.whole.push(ticks.whole as f64 * nanoseconds);
            }
            barrier.wait();
            if processor == on[0] {
                stop.store(start.elapsed() >= budget, Ordering::Release);
            }
            barrier.wait();
        }
        rows
    };
    // The rounds run in threads of their own, so that this thread is not bound to one processor.
    let mut each: Vec<Vec<Row>> = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = on.iter().map(|&processor| scope.spawn(move || work(processor))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that measures does not panic")).collect()
    });
    debug_assert!(processors().len() >= on.len());
    let mut rows = each.pop().unwrap_or_default();
    // The figure of a round is the mean of all processors.
    for (at, row) in rows.iter_mut().enumerate() {
        let of = |samples: fn(&Row) -> &Samples| {
            Samples::mean(each.iter().map(|rows| samples(&rows[at])).chain([samples(row)]))
        };
        (row.check, row.whole) = (of(|row| &row.check), of(|row| &row.whole));
    }
    Measured { processors: on.len(), rounds: rows[0].check.len(), rows }
}
