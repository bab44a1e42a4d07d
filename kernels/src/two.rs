//! Two CPUs: one flips, the other runs through the sites. It starts in the middle of the flips, and flips from its notifier.

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use jumplabel::{Batch, Error, Visibility, static_branch_unlikely, static_key};

use crate::checks::{ROUTE, TRACE, seen, sites};
use crate::machine::{KERNEL, serialised};
use crate::{arch, bad, operations, say, unit};

static_key! { static PER_CPU: false; }

/// Flips a boot. `KERNEL_FLIPS` is for the long test.
const FLIPS: u32 = match option_env!("KERNEL_FLIPS") {
    Some(number) => match u32::from_str_radix(number, 10) {
        Ok(number) => number,
        Err(_) => panic!("KERNEL_FLIPS is a number"),
    },
    None => 1000,
};

/// Twice the number of flips that are done; odd while one is going on.
static EPOCH: AtomicU32 = AtomicU32::new(0);
static ONLINE: AtomicBool = AtomicBool::new(false);
static DONE: AtomicBool = AtomicBool::new(false);
static RUNS: AtomicU32 = AtomicU32::new(0);
static COMPARED: AtomicU32 = AtomicU32::new(0);
static STALE: AtomicU32 = AtomicU32::new(0);

/// The other CPU.
pub fn other() {
    let online = KERNEL.online(|lock| {
        assert!(PER_CPU.enable() == Err(Error::Reentrant));
        PER_CPU.enable_locked(lock).unwrap();
    });
    online.unwrap();
    ONLINE.store(true, Release);
    while !DONE.load(Acquire) {
        let before = EPOCH.load(SeqCst);
        let on = before & 2 != 0;
        let seen = (seen(), operations::seen(), unit::agrees(on));
        let after = EPOCH.load(SeqCst);
        RUNS.fetch_add(1, Relaxed);
        if before == after && before & 1 == 0 {
            COMPARED.fetch_add(1, Relaxed);
            STALE.fetch_add(u32::from(seen != ([on; 4], twice(before / 2), true)), Relaxed);
        }
    }
    bad::other();
}

/// Waits, with interrupts on.
pub fn until(done: impl Fn() -> bool) {
    while !done() {
        core::hint::spin_loop();
    }
}

/// Whether an event counts twice behind this flip.
fn twice(number: u32) -> bool {
    number & 4 != 0
}

/// Flips all sites that the other CPU runs through; every fourth time, changes its operations. How often this CPU and the other one
/// serialised for it.
fn flip(number: u32) -> Result<[u32; 2], Error> {
    let cpus = [arch::cpu(), 1 - arch::cpu()];
    let before = cpus.map(serialised);
    EPOCH.store(2 * number - 1, SeqCst);
    let on = number & 1 == 1;
    let outcome = Batch::new().set(&TRACE, on).set(&ROUTE, on).commit()?;
    if number.is_multiple_of(4) {
        operations::set(twice(number))?;
    }
    EPOCH.store(2 * number, SeqCst);
    assert!(outcome.sites == 1 + sites() && outcome.visibility == Visibility::Immediate);
    let after = cpus.map(serialised);
    Ok([after[0] - before[0], after[1] - before[1]])
}

pub fn run() -> Result<(), Error> {
    // As many as it takes until the other one is there.
    let mut number = 0;
    while !ONLINE.load(Acquire) {
        number += 1;
        flip(number)?;
        if number == 2 {
            arch::start_other_cpu();
        }
    }
    assert!(PER_CPU.is_enabled() && static_branch_unlikely!(PER_CPU));
    say!("the other CPU came after {number} flips");

    // A flip of primed sites is one step, and so is a change of operations. For each, this CPU serialises once; the other one when it
    // stops, behind the step, and when it goes.
    for _ in 0..FLIPS {
        number += 1;
        let counts = flip(number)?;
        let changes = if number.is_multiple_of(4) { 2 } else { 1 };
        assert!(counts == [changes, 3 * changes], "serialised {counts:?} times in a flip");
        if number.is_multiple_of(16) {
            let runs = RUNS.load(Relaxed);
            until(|| RUNS.load(Relaxed).wrapping_sub(runs) >= 2);
        }
    }
    if number & 1 == 1 {
        flip(number + 1)?;
    }
    let [runs, compared, stale] = [&RUNS, &COMPARED, &STALE].map(|count| count.load(Relaxed));
    say!("{FLIPS} flips, {runs} runs of the other CPU, {compared} compared, {stale} stale");
    assert!(compared > 0 && stale == 0);
    DONE.store(true, Release);
    Ok(())
}
