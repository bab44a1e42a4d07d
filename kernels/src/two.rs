//! One CPU flips, and the other runs through the sites. The other one starts in the middle of the flips, and itself flips as it comes online.

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use jumplabel::{Batch, Error, Visibility, static_branch_unlikely, static_key};

use crate::checks::{ROUTE, TRACE, seen, sites};
use crate::machine::{KERNEL, serialised, until, written};
use crate::{arch, bad, cache, conformance, modules, operations, say, stack, unit};

static_key! {
    static PER_CPU: false;
    static FRESH: false;
}

/// The number of flips in a boot. The long test sets `KERNEL_FLIPS`.
const FLIPS: u32 = match option_env!("KERNEL_FLIPS") {
    Some(number) => match u32::from_str_radix(number, 10) {
        Ok(number) => number,
        Err(_) => panic!("KERNEL_FLIPS is a number"),
    },
    None => 1000,
};

/// Counts flips: it is twice the number of finished flips, plus 1 during a flip.
static EPOCH: AtomicU32 = AtomicU32::new(0);
static ONLINE: AtomicBool = AtomicBool::new(false);
static DONE: AtomicBool = AtomicBool::new(false);
static RUNS: AtomicU32 = AtomicU32::new(0);
static COMPARED: AtomicU32 = AtomicU32::new(0);
/// The last epoch in which the other CPU compared its sites with their keys. `EPOCHS` counts such epochs.
static LAST: AtomicU32 = AtomicU32::new(0);
static EPOCHS: AtomicU32 = AtomicU32::new(0);
static STALE: AtomicU32 = AtomicU32::new(0);

/// The phase of the other CPU: it is online, it must go offline, it is offline, or it must come online again.
static PHASE: AtomicU32 = AtomicU32::new(HERE);
const HERE: u32 = 0;
const GO: u32 = 1;
const GONE: u32 = 2;
const COME: u32 = 3;
const TIMES: u32 = 4;

/// The other CPU runs this.
pub fn on_other_cpu() {
    bad::not_known();
    let online = KERNEL.online(|lock| {
        assert!(PER_CPU.enable() == Err(Error::Reentrant));
        PER_CPU.enable_locked(lock).unwrap();
    });
    online.unwrap();
    ONLINE.store(true, Release);
    while !DONE.load(Acquire) {
        if PHASE.load(Acquire) == GO {
            go_and_come();
        }
        let before = EPOCH.load(SeqCst);
        let on = before & 2 != 0;
        let seen = (seen(), operations::seen(), unit::agrees(on) && modules::agrees(on));
        let after = EPOCH.load(SeqCst);
        RUNS.fetch_add(1, Relaxed);
        if before == after && before & 1 == 0 {
            COMPARED.fetch_add(1, Relaxed);
            STALE.fetch_add(u32::from(seen != ([on; 4], twice(before / 2), true)), Relaxed);
            EPOCHS.fetch_add(u32::from(LAST.swap(before, Relaxed) != before), Relaxed);
        }
    }
    cache::together();
    bad::on_other_cpu();
}

/// Takes this CPU offline, and online again. While it is offline, it runs no site, and flips do not stop it.
fn go_and_come() {
    KERNEL.offline().unwrap();
    PHASE.store(GONE, Release);
    until(|| PHASE.load(Acquire) == COME);
    let online = KERNEL.online(|lock| {
        let change = if PER_CPU.is_enabled() { PER_CPU.disable_locked(lock) } else { PER_CPU.enable_locked(lock) };
        change.unwrap();
    });
    online.unwrap();
    PHASE.store(HERE, Release);
}

/// Sends the other CPU offline and back. Flips in between stop nobody, and the other CPU sees their results when it is online again.
fn away(number: &mut u32) -> Result<(), Error> {
    for _ in 0..TIMES {
        PHASE.store(GO, Release);
        until(|| PHASE.load(Acquire) == GONE);
        let (before, was) = (serialised(1 - arch::cpu()), PER_CPU.is_enabled());
        *number += 1;
        flip(*number)?;
        assert!(serialised(1 - arch::cpu()) == before, "a CPU that is offline was stopped");
        PHASE.store(COME, Release);
        until(|| PHASE.load(Acquire) == HERE);
        assert!(static_branch_unlikely!(PER_CPU) != was);
        until(|| LAST.load(Relaxed) == 2 * *number);
    }
    say!("a CPU went offline and came again {TIMES} times");
    Ok(())
}

/// True if an event counts twice after flip `number`.
fn twice(number: u32) -> bool {
    number & 4 != 0
}

/// Flips. Returns how often this CPU and the other one serialised meanwhile. Checks that the other one stood still at each write.
fn counted(flip: impl FnOnce() -> Result<(), Error>) -> Result<[u32; 2], Error> {
    let cpus = [arch::cpu(), 1 - arch::cpu()];
    let (before, [still, moving]) = (cpus.map(serialised), written());
    flip()?;
    let [still, moving] = [written()[0] - still, written()[1] - moving];
    assert!(still > 0 && moving == 0, "{moving} writes while the other CPU ran, {still} while it stood still");
    let after = cpus.map(serialised);
    Ok([after[0] - before[0], after[1] - before[1]])
}

/// Flips all sites that the other CPU runs through. Each fourth flip also changes the backend of its operations.
fn flip(number: u32) -> Result<(), Error> {
    EPOCH.store(2 * number - 1, SeqCst);
    let on = number & 1 == 1;
    let outcome = modules::with(Batch::new().set(&TRACE, on).set(&ROUTE, on), on).commit()?;
    if number.is_multiple_of(4) {
        operations::set(twice(number))?;
    }
    EPOCH.store(2 * number, SeqCst);
    assert!(outcome.visibility == Visibility::Immediate, "CPU {:?} came late", KERNEL.late());
    assert!(outcome.sites == 1 + sites() + modules::sites());
    Ok(())
}

/// Checks the number of steps of a flip. Both CPUs serialise once for each step; the other one does so twice more, when it stops and when it goes on.
fn steps() -> Result<(), Error> {
    // On x86, the first flip of a site takes three steps, after which one byte decides between the two states. All later flips take one step.
    let steps = if cfg!(any(target_arch = "x86", target_arch = "x86_64")) { 3 } else { 1 };
    for steps in [steps, 1] {
        let on = !FRESH.is_enabled();
        let counts = counted(|| Batch::new().set(&FRESH, on).commit().map(|_| ()))?;
        assert!(static_branch_unlikely!(FRESH) == on);
        assert!(counts == [steps, steps + 2], "serialised {counts:?} times in {steps} steps");
    }
    Ok(())
}

pub fn run() -> Result<(), Error> {
    bad::not_known();
    // This CPU flips until the other one is online.
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

    steps()?;
    modules::load(number & 1 == 1)?;
    // A flip of primed sites takes one step. A change of operations does, too, except where they are static calls of x86: there, the displacements to
    // the two functions may differ in several bytes, which depends on the linker. Then each change takes three steps.
    let mut of_operations = None;
    for _ in 0..FLIPS {
        number += 1;
        let counts = counted(|| flip(number))?;
        let mut expected = [1, 3];
        if number.is_multiple_of(4) {
            let steps = *of_operations.get_or_insert(counts[0] - 1);
            assert!(steps == 1 || steps == 3 && cfg!(target_arch = "x86"), "operations changed in {steps} steps");
            expected = [1 + steps, 3 + steps + 2];
        }
        assert!(counts == expected, "serialised {counts:?} times in a flip");
        // After every third flip, the next one follows at once. After each of the others, the other CPU must first compare its sites.
        if !number.is_multiple_of(3) {
            until(|| LAST.load(Relaxed) == 2 * number);
        }
    }
    away(&mut number)?;
    modules::unload()?;
    if number & 1 == 1 {
        flip(number + 1)?;
    }
    let [runs, compared, epochs, stale] = [&RUNS, &COMPARED, &EPOCHS, &STALE].map(|count| count.load(Relaxed));
    say!(
        "{FLIPS} flips, {runs} runs of the other CPU, {compared} compared with {epochs} of {number} states, {stale} stale"
    );
    assert!(epochs >= FLIPS / 3 * 2 && stale == 0);
    conformance::run();
    // From now on the other CPU compares the same epoch again and again, because no flip below changes it.
    stack::run("beside another CPU");
    DONE.store(true, Release);
    Ok(())
}
