//! Hart 0 flips, with other locks held or without, while three other harts run through the sites. Then all four flip at once.

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use jumplabel::{Batch, Error, naked_key, static_branch_likely, static_branch_unlikely, static_call, static_key};
use jumplabel_kernel::Kernel;

use crate::hart::{self, HARTS};
use crate::lock::{Spin, foreign, with_foreign};
use crate::machine::{self, Here, KERNEL, ONE_FLIPS, ONLINE};
use crate::trap::{ANSWERS, TICKS, TRACE};
use crate::{boot, say, stacks};

static_key! {
    static OF_HART: [false; HARTS];
}
naked_key! { static ROUTE: false; }
static_call! { static WORK: fn(u32) -> u32 = plain; }

fn plain(number: u32) -> u32 {
    number
}

fn traced(number: u32) -> u32 {
    number + 1
}

/// A lock of this kernel that hart 0 holds during some flips, while another hart waits for it. `FOREIGN` is such a lock of a foreign crate.
static OURS: Spin = Spin::new();
static FOREIGN: foreign::Lock = foreign::Lock::new();

/// A platform for two CPUs, which is too few for these four harts.
static SMALL: Kernel<Here, 2, 1> = Kernel::new(Here);

static LET_GO: AtomicBool = AtomicBool::new(false);
/// Counts flips: it is twice the number of finished flips, plus 1 during a flip.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// For each hart, the last epoch in which the hart compared its sites with their keys.
static LAST: [AtomicU32; HARTS] = [const { AtomicU32::new(0) }; HARTS];
static STALE: AtomicU32 = AtomicU32::new(0);
static COMPARED: AtomicU32 = AtomicU32::new(0);
/// True at the end of the test: then all harts flip, and `DONE` counts the harts that are done.
static ALL_FLIP: AtomicBool = AtomicBool::new(false);
static DONE: AtomicU32 = AtomicU32::new(0);
/// True after all harts have flipped: then they stop their timers, and `STOPPED` counts the harts that have done so.
static ALL_STOP: AtomicBool = AtomicBool::new(false);
static STOPPED: AtomicU32 = AtomicU32::new(0);

const FLIPS: u32 = 200;

#[inline(never)]
fn seen() -> [bool; 4] {
    [static_branch_unlikely!(TRACE), static_branch_likely!(TRACE), ROUTE.get(), WORK(1) == 2]
}

fn until(done: impl Fn() -> bool) {
    while !done() {
        core::hint::spin_loop();
    }
}

/// Flips, in turn: with `OURS` held, with `FOREIGN` held, with neither.
fn flip(number: u32) -> Result<(), Error> {
    EPOCH.store(2 * number - 1, SeqCst);
    let on = number & 1 == 1;
    let change = || {
        let target = if on { traced } else { plain };
        Batch::<4>::with_capacity().set(&TRACE, on).set(&ROUTE, on).set(&WORK, target).commit()
    };
    let outcome = match number % 3 {
        0 => OURS.with(change),
        1 => with_foreign(&FOREIGN, change),
        _ => change(),
    };
    outcome.map_err(|error| {
        say!("hart {:?} came late", KERNEL.late());
        error
    })?;
    EPOCH.store(2 * number, SeqCst);
    Ok(())
}

pub fn run() -> Result<(), Error> {
    machine::start()?;
    flip(1)?;
    assert!(seen() == [true; 4]);
    say!("early: flips");
    #[cfg(target_arch = "riscv32")]
    {
        crate::portable::loading();
        crate::portable::stack("on one CPU");
    }
    LET_GO.store(true, Release);
    until(|| ONLINE.load(Acquire) as usize == HARTS);
    for number in 2..=FLIPS {
        flip(number)?;
        until(|| LAST[1..].iter().all(|last| last.load(Relaxed) == 2 * number));
    }
    let [compared, stale] = [&COMPARED, &STALE].map(|count| count.load(Relaxed));
    say!("{FLIPS} flips, {compared} runs of three harts compared, {stale} stale");
    assert!(stale == 0 && compared >= 3 * (FLIPS - 1));
    #[cfg(target_arch = "riscv32")]
    {
        crate::portable::run();
        crate::portable::stack("beside other CPUs");
    }
    ONE_FLIPS.store(false, SeqCst);
    ALL_FLIP.store(true, Release);
    flips_of_all()?;
    until(|| DONE.load(Acquire) as usize == HARTS);
    say!("four harts have flipped at once");
    for ticks in &TICKS {
        until(|| ticks[0].load(Relaxed) > 0);
    }
    TRACE.enable()?;
    let before = TICKS.each_ref().map(|ticks| ticks[1].load(Relaxed));
    until(|| TICKS.iter().zip(before).all(|(ticks, before)| ticks[1].load(Relaxed) > before));
    say!("the timer ticks on all harts, beside requests");
    ALL_STOP.store(true, Release);
    stop_timer();
    requests_are_no_ticks()?;
    say!("stacks of {} bytes: {:?} used", stacks::STACK, stacks::used());
    Ok(())
}

fn stop_timer() {
    boot::stop_timer();
    STOPPED.fetch_add(1, Release);
}

/// Flips while no timer runs. Each flip sends requests to each other hart. The handler of the first request may also find a tick that was pending.
/// `TRACE` is on meanwhile, also at the site that runs after `answer`.
fn requests_are_no_ticks() -> Result<(), Error> {
    const REQUESTS: u32 = 10;
    until(|| STOPPED.load(Acquire) as usize == HARTS);
    let counts = || {
        let all = |counts: &[[AtomicU32; 2]; HARTS]| counts.each_ref().map(|of| of.each_ref().map(|n| n.load(SeqCst)));
        (all(&TICKS), all(&ANSWERS))
    };
    // A hart may be in its handler while its two counters are read.
    let counts = || {
        loop {
            let now = counts();
            if counts() == now {
                break now;
            }
        }
    };
    let before = counts();
    for number in 0..REQUESTS {
        if number & 1 == 0 { OF_HART[0].enable() } else { OF_HART[0].disable() }?;
    }
    // The last request may be in its handler still.
    until(|| (1..HARTS).all(|hart| counts().1[hart][1] - before.1[hart][1] >= REQUESTS));
    let after = counts();
    for hart in 1..HARTS {
        let ticks = after.0[hart][0] - before.0[hart][0];
        assert!(ticks <= 1, "hart {hart} counts {ticks} false ticks");
        let [answers, traced] = [0, 1].map(|of| after.1[hart][of] - before.1[hart][of]);
        assert!(answers.abs_diff(traced) <= 1, "hart {hart} answered {answers} times, and saw TRACE {traced} times");
    }
    say!("{REQUESTS} requests are no ticks, and sites after the answer see them");
    Ok(())
}

#[inline(never)]
fn seen_of_harts() -> [bool; HARTS] {
    [
        static_branch_unlikely!(OF_HART[0]),
        static_branch_unlikely!(OF_HART[1]),
        static_branch_unlikely!(OF_HART[2]),
        static_branch_unlikely!(OF_HART[3]),
    ]
}

/// Each hart flips a key of its own.
fn flips_of_all() -> Result<(), Error> {
    let hart = hart::number();
    for number in 0..50 {
        let on = number & 1 == 0;
        if on { OF_HART[hart].enable() } else { OF_HART[hart].disable() }?;
        assert!(OF_HART[hart].is_enabled() == on && seen_of_harts()[hart] == on);
    }
    DONE.fetch_add(1, Release);
    Ok(())
}

pub fn on_other_hart() {
    // This hart has been running since reset. It goes online once hart 0 has started the platform. Before that, it runs no site.
    until(|| LET_GO.load(Acquire));
    let hart = hart::number();
    if hart >= 2 {
        assert!(SMALL.online(|_| unreachable!()) == Err(Error::NoSuchCpu { cpu: hart }));
    }
    machine::come().unwrap();
    while !ALL_FLIP.load(Acquire) {
        let before = EPOCH.load(SeqCst);
        // Two of the harts take a lock first, with interrupts off. Hart 0 may hold that lock while it flips.
        let seen = match hart {
            1 => OURS.with(seen),
            2 => with_foreign(&FOREIGN, seen),
            _ => seen(),
        };
        if before & 1 == 0 && EPOCH.load(SeqCst) == before {
            COMPARED.fetch_add(1, Relaxed);
            STALE.fetch_add(u32::from(seen != [before & 2 != 0; 4]), Relaxed);
            LAST[hart].store(before, Relaxed);
        }
    }
    flips_of_all().unwrap();
    until(|| ALL_STOP.load(Acquire));
    stop_timer();
}
