//! The loops of `jumplabel-bench -- cache`, which fill the caches between checks, on one CPU and then on both at once. An emulator has no caches, so
//! this prints no times, and repeats each loop at most a tenth as often. The test shows that the loops run in a kernel, and that each check sees the
//! state of its key or flag.

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, SeqCst},
};

use jumplabel::{Batch, Error, naked_key, static_branch_unlikely, static_key};

use crate::machine::{bounds, until};
use crate::{arch, say};

/// The number of checks in a row, and the number of flags.
const CHECKS: usize = 1000;

/// A flag that has a cache line for itself.
#[repr(align(64))]
struct Flag(AtomicBool);

static FLAGS: [Flag; CHECKS] = [const { Flag(AtomicBool::new(false)) }; CHECKS];
static_key! { static SITE: false; }
naked_key! { static NAKED: false; }

/// The ways to make a check: of a key, or of flag number `at`.
const WAYS: [fn(usize) -> bool; 6] = [
    |_| NAKED.get(),
    |_| static_branch_unlikely!(SITE),
    // SAFETY: flags are written only while no other CPU runs.
    |at| unsafe { FLAGS[at].0.as_ptr().read_volatile() },
    |at| FLAGS[at].0.load(Relaxed),
    |at| FLAGS[at].0.load(Acquire),
    |at| FLAGS[at].0.load(SeqCst),
];

/// The number of checks and of fills, and the number of checks that found their key or flag on.
#[derive(Default)]
struct Counts {
    checks: u32,
    fills: u32,
    on: u32,
}

impl Counts {
    fn check(&mut self, way: fn(usize) -> bool, numbers: core::ops::Range<usize>) {
        for at in numbers {
            self.checks += 1;
            self.on += u32::from(way(at));
        }
    }

    /// Reads one word of each cache line of 2 MiB, in an order that CPUs do not predict. This memory lies after the image and the module; each CPU
    /// has its own.
    fn fill(&mut self) {
        const BYTES: usize = 2 << 20;
        const LINES: usize = BYTES / 64;
        let memory = bounds().code.start + (16 + arch::cpu()) * BYTES;
        let mut line = 0;
        for _ in 0..LINES {
            // SAFETY: the memory exists, and nobody writes to it.
            unsafe { ((memory + 64 * line) as *const u32).read_volatile() };
            line = (line * 5 + 12345) % LINES; // By Hull and Dobell's theorem, this visits each line once.
        }
        self.fills += 1;
    }
}

/// Runs all loops in all ways.
fn loops() -> Counts {
    let mut counts = Counts::default();
    for way in WAYS {
        counts.check(way, 0..1);
        counts.fill();
        counts.check(way, 0..1);
        for _ in 0..10 {
            counts.check(way, 0..CHECKS);
            counts.fill();
            counts.check(way, 0..CHECKS);
        }
        for at in 0..10 {
            counts.check(way, at..at + 1);
            counts.fill();
        }
    }
    counts
}

/// Runs on this CPU alone, with all keys and flags off. Then turns all of them on.
pub fn alone() -> Result<(), Error> {
    let Counts { checks, fills, on } = loops();
    assert!(on == 0);
    Batch::new().enable(&SITE).enable(&NAKED).commit()?;
    FLAGS.iter().for_each(|flag| flag.0.store(true, Relaxed));
    say!("cache loops: {checks} checks, {fills} fills on one CPU");
    Ok(())
}

/// Runs on both CPUs at once, with all keys and flags on.
pub fn together() {
    static HERE: AtomicU32 = AtomicU32::new(0);
    static DONE: AtomicU32 = AtomicU32::new(0);
    let all = |count: &AtomicU32| {
        count.fetch_add(1, SeqCst);
        until(|| count.load(SeqCst) == 2);
    };
    all(&HERE);
    let counts = loops();
    assert!(counts.on == counts.checks);
    all(&DONE);
}
