//! `up`: the cost of `lock` prefixes. A turn takes a mutex that nobody else wants, clears 64 bytes, and releases the mutex. The variants are a
//! constant `lock`, prefixes that are put in, the same prefixes in UP mode, and no `lock`. The same is measured with a ticket lock, which has one
//! `lock`.
//!
//! ```text
//!   first         step through each loop: counts the instructions of a turn
//!   each round    run each variant once, in random order; ratios are within one round
//!   after all     median of the ratios over all placements, with the least and the greatest
//! ```

use std::arch::asm;
use std::hint::black_box;

use jumplabel::{lock_prefix, up};
use serde_json::json;

use crate::Result;
use crate::placed::{self, Loops, PLACEMENTS, Placed, begin_at, placements};
use crate::report::{Chart, Report, Table, Target, figure};
use crate::step;

/// The turns of a loop in one sample, which takes about 100 us.
const TURNS: u64 = 5_000;

/// The data that a mutex guards, on a cache line of its own.
#[repr(align(64))]
struct Guarded {
    bytes: [u64; 8],
    mutex: u32,
}

/// A loop that takes and releases a mutex, as with futexes, by two atomic instructions: `cmpxchg` and `xadd`.
macro_rules! turns {
    ($name:ident $(, $prefix:expr)?) => {
        #[inline(never)]
        fn $name<const P: usize>(turns: u64) -> u64 {
            let mut guarded = Guarded { bytes: [1; 8], mutex: 0 };
            let mut waited = 0;
            begin_at!(P);
            for _ in 0..turns {
                let (mut found, mut one) = (0_u32, 1_u32);
                let mutex = &raw mut guarded.mutex;
                // SAFETY: the address is that of a local number.
                unsafe { asm!($($prefix,)? "cmpxchg [{mutex}], {one:e}", mutex = in(reg) mutex, one = in(reg) one, inout("eax") found) };
                waited += u64::from(found);
                black_box(&mut guarded.bytes).fill(0);
                one = one.wrapping_neg();
                // SAFETY: the address is that of the same local number.
                unsafe { asm!($($prefix,)? "xadd [{mutex}], {one:e}", mutex = in(reg) mutex, one = inout(reg) one) };
                waited += u64::from(one - 1);
            }
            waited
        }
    };
}

turns!(constant, "lock");
turns!(site, lock_prefix!());
turns!(none);

/// A loop that takes and releases a ticket lock. `xadd` on the whole word takes it, and `inc` of its lower half releases it.
#[inline(never)]
fn ticket<const P: usize>(turns: u64) -> u64 {
    pair::<true, P>(turns)
}

/// A loop with only the two instructions of the ticket lock.
#[inline(never)]
fn ticket_only<const P: usize>(turns: u64) -> u64 {
    pair::<false, P>(turns)
}

#[inline(always)]
fn pair<const CLEARS: bool, const P: usize>(turns: u64) -> u64 {
    let mut guarded = Guarded { bytes: [1; 8], mutex: 0 };
    let mut waited = 0;
    begin_at!(P);
    for _ in 0..turns {
        let mut ticket = 1_u32 << 16;
        let lock = &raw mut guarded.mutex;
        // SAFETY: the address is that of a local number.
        unsafe { asm!(lock_prefix!(), "xadd [{lock}], {ticket:e}", lock = in(reg) lock, ticket = inout(reg) ticket) };
        waited += u64::from(ticket as u16 != (ticket >> 16) as u16);
        if CLEARS {
            black_box(&mut guarded.bytes).fill(0);
        }
        // SAFETY: the address is that of the lower half of the same number.
        unsafe { asm!("inc word ptr [{lock}]", lock = in(reg) lock) };
    }
    waited
}

type Variant = (&'static str, Loops, bool);

/// The variants: a name, a loop, and whether the loop runs in UP mode.
static VARIANTS: [Variant; 8] = [
    ("lock, constant", placements!(constant), false),
    ("lock, put in", placements!(site), false),
    ("UP mode", placements!(site), true),
    ("no lock, constant", placements!(none), false),
    ("ticket lock, put in", placements!(ticket), false),
    ("ticket lock, UP mode", placements!(ticket), true),
    ("no clearing, put in", placements!(ticket_only), false),
    ("no clearing, UP mode", placements!(ticket_only), true),
];
/// The index of the first variant with a ticket lock. The later variants are compared with it, and the earlier ones with the first of all.
const TICKET: usize = 4;

pub fn run(quick: bool) -> Result<Report> {
    let mut samples: [Placed; VARIANTS.len()] = Default::default();
    let mut instructions = [f64::NAN; VARIANTS.len()];
    for (count, (_, loops, in_up)) in instructions.iter_mut().zip(&VARIANTS) {
        switch(*in_up)?;
        *count = step::instructions_of_turn(loops[0]).unwrap_or(f64::NAN);
    }
    placed::rounds(crate::samples::budget(if quick { 2 } else { 20 }), VARIANTS.len(), |placement, at| {
        let (_, loops, in_up) = &VARIANTS[at];
        switch(*in_up)?;
        if placed::run(loops, placement, 1) != 0 {
            return Err("somebody else has a mutex that nobody knows".into());
        }
        samples[at].push(placement, placed::nanoseconds(loops, placement, TURNS) / TURNS as f64);
        Ok(())
    })?;
    let mut report = Report::new("up", quick);
    let title = format!("a mutex, and 64 bytes cleared; {} rounds in {PLACEMENTS} placements", samples[0].rounds());
    let mut table = Table::new(title, &["", "ns", "% of lock", "from", "to", "", "instructions"]);
    let mut chart = Chart::new(
        "a mutex, or a ticket lock, and 64 bytes cleared",
        "% of the time with lock: median of the placements, least and most",
    );
    let mut facts = Vec::new();
    for (at, ((name, ..), instructions)) in VARIANTS.iter().zip(instructions).enumerate() {
        let own = &samples[at];
        let beside = if at < TICKET { 0 } else { TICKET };
        let ratio = own.over(&samples[beside]).times(100.0);
        let (ns, part, [from, to]) = (own.spread().median, ratio.median, ratio.range);
        let verdict = if at == beside { "" } else { ratio.verdict(100.0) };
        chart.bar(*name, part, [from, to]);
        let figures = [(ns, 2), (part, 1), (from, 1), (to, 1)].map(|(value, digits)| figure(value, digits));
        let behind = [verdict.to_owned(), figure(instructions, 0)];
        table.row([(*name).to_owned()].into_iter().chain(figures).chain(behind));
        facts.push(json!({ "variant": name, "ns": ns, "percent": part, "percent_interval": [from, to],
            "instructions": instructions }));
    }
    report.table(table);
    report.chart(chart);
    let part = |own: usize, of: usize| Target { figure: samples[own].over(&samples[of]).median * 100.0, limit: 60.0 };
    let (target, of_ticket) = (part(2, 0), part(TICKET + 1, TICKET));
    let mut table = Table::new("target", &["", "%", "target", ""]);
    for (lock, what, target) in [
        ("a mutex", "UP mode, of the time with lock", target),
        ("a ticket lock", "the same of a ticket lock", of_ticket),
    ] {
        let [part, limit, verdict] = target.cells();
        let words = format!("{lock} that nobody else wants, in UP mode: % of its time with `lock` prefixes");
        report.judged(words, &part, &limit, &verdict);
        table.row([what.to_owned(), part, limit, verdict]);
    }
    report.table(table);
    report.note("% of lock: of a ticket lock, of that with its prefix put in, and 64 bytes cleared");
    report.fact("variants", json!(facts));
    report.fact("target", target.json());
    report.fact("target_of_ticket", of_ticket.json());
    Ok(report)
}

/// Switches to UP mode, or back. This process has one thread.
fn switch(to_up: bool) -> Result<()> {
    if to_up {
        // SAFETY: this process has one thread.
        unsafe { up::enter() }?
    } else {
        up::leave()?
    };
    Ok(())
}
