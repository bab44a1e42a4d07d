//! `tracepoints`: what tracepoints cost that nobody looks at, by their number, and what an emission costs that somebody sees.
//!
//! ```text
//!   dormant, so many in a row:  lea     check, lea     check, lea     ...     ret
//!     nothing                   lea                              3 bytes
//!     site                      nop, lea                         8
//!     relaxed load              cmp, jne, lea                   16       a flag for each, 8 bytes from one to the next
//! ```
//!
//! They are written in assembler, because a compiler takes minutes for 10^5 of them; a site is what `emit!` leaves, which is
//! decoded. They have no table entries: nobody flips them.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jumplabel::{Probe, emit, tracepoint};
use serde_json::json;

use crate::Result;
use crate::report::{Report, Table, figure};
use crate::samples::{Samples, time};
use crate::site::decode::Path;
use crate::step;

const MOST: usize = 100_000;
const NUMBERS: [usize; 6] = [1, 10, 100, 1_000, 10_000, MOST];

/// One flag for each, where the compiler would put those of tracepoints whose state lies together.
static BENCH_DORMANT_FLAGS: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

/// All of one sort, and a return behind the last.
macro_rules! row_of {
    ($symbol:literal, $check:literal $(, $flags:path)?) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", $symbol, ", \"ax\", @progbits\n.balign 64\n", $symbol, ":"),
            concat!(".globl ", $symbol, "\n.hidden ", $symbol),
            ".set .Lflag, 0\n.rept 100000",
            $check,
            "lea eax, [rdi + 1]\n.set .Lflag, .Lflag + 8\n.endr",
            concat!(".Lend_", $symbol, ": ret\n.popsection"),
            $(flags = sym $flags,)?
        );
    };
}
row_of!("bench_dormant_nothing", "");
row_of!("bench_dormant_site", ".byte 0x0f, 0x1f, 0x44, 0, 0");
// A jump of six bytes, however near the end is.
row_of!(
    "bench_dormant_load",
    "cmp byte ptr [rip + {flags} + .Lflag], 0\n.byte 0x0f, 0x85\n.long .Lend_bench_dormant_load - . - 4",
    BENCH_DORMANT_FLAGS
);

unsafe extern "C" {
    fn bench_dormant_nothing();
    fn bench_dormant_site();
    fn bench_dormant_load();
}

/// Tracepoints in a row: name, code, bytes of each.
struct Dormant(&'static str, unsafe extern "C" fn(), usize);

const DORMANT: [Dormant; 3] = [
    Dormant("nothing", bench_dormant_nothing, 3),
    Dormant("site", bench_dormant_site, 8),
    Dormant("relaxed load", bench_dormant_load, 16),
];

impl Dormant {
    /// The last `number` of them.
    fn entry(&self, number: usize) -> extern "C" fn(u64) -> u32 {
        // SAFETY: where one of them begins; they touch nothing but eax and the flags.
        unsafe { std::mem::transmute(self.1 as usize + (MOST - number) * self.2) }
    }

    /// Instructions and loads of one.
    fn path(&self) -> [f64; 2] {
        let [path, less] = [200, 100].map(|number| Path::of_call(self.entry(number) as usize));
        [path.len() - less.len(), path.loads() - less.loads()].map(|count| count as f64 / 100.0)
    }

    /// Nanoseconds of a pass over `number`.
    fn sample(&self, number: usize) -> f64 {
        let (entry, passes) = (black_box(self.entry(number)), (MOST / number).min(10_000));
        entry(1);
        time(|| (0..passes as u64).for_each(|pass| _ = black_box(entry(pass)))) / passes as f64
    }
}

tracepoint! {
    /// What is measured when it is on.
    bench, point(number: u64);
}

static SEEN: AtomicU64 = AtomicU64::new(0);

/// Not inlined, and no atomic operation that locks.
#[inline(never)]
fn probe(number: u64) {
    SEEN.store(number, Ordering::Relaxed);
}

#[inline(never)]
fn emits(turns: u64) {
    for turn in 0..turns {
        emit!(point, black_box(turn));
    }
}

#[inline(never)]
fn calls(turns: u64) {
    for turn in 0..turns {
        probe(black_box(turn));
    }
}

#[inline(never)]
fn nothing(turns: u64) {
    for turn in 0..turns {
        black_box(turn);
    }
}

/// One emission, to be decoded, and what it is without. (Among other work, the call in the arm out of line can make the function save
/// registers, as any call there: docs/how-it-works.md, "The site".)
#[inline(never)]
fn emits_once(number: u64) {
    emit!(point, number);
}

#[inline(never)]
fn emits_never(_: u64) {}

type Probes = Vec<Probe<point>>;

/// What an emission meets: name, loop, probes.
struct Live(&'static str, fn(u64), fn() -> Result<Probes>);

fn plain(number: usize) -> Result<Probes> {
    Ok((0..number).map(|_| point.add(probe)).collect::<std::result::Result<_, _>>()?)
}

const LIVE: [Live; 7] = [
    Live("no tracepoint", nothing, || plain(0)),
    Live("no probe", emits, || plain(0)),
    Live("direct call", calls, || plain(0)),
    Live("a plain fn", emits, || plain(1)),
    Live("a closure", emits, || {
        let sum = AtomicU64::new(0);
        Ok(vec![point.add_closure(Arc::new(move |number| sum.store(number, Ordering::Relaxed)))?])
    }),
    Live("2 plain fns", emits, || plain(2)),
    Live("8 plain fns", emits, || plain(8)),
];

const TURNS: u64 = 5_000;
/// Turns that are stepped through.
const STEPPED: u64 = 20;

pub fn run(quick: bool) -> Result<Report> {
    black_box(&SEEN); // The compiler must not know that nobody reads it.
    // An emission in code of the compiler's: one instruction.
    let [with, without] = [emits_once, emits_never].map(|function| Path::of_call(function as usize));
    let emission = [with.len() as f64 - without.len() as f64, with.loads() as f64 - without.loads() as f64];
    if !cfg!(debug_assertions) && emission != [1.0, 0.0] {
        return Err(
            format!("an emission is {} instructions and {} loads: not measured", emission[0], emission[1]).into()
        );
    }
    let mut dormant: [[Samples; DORMANT.len()]; NUMBERS.len()] = Default::default();
    let mut live: [Samples; LIVE.len()] = Default::default();
    let stepped = LIVE.iter().map(Live::instructions).collect::<Result<Vec<_>>>()?;
    let mut turns: Vec<usize> = (0..NUMBERS.len() * DORMANT.len() + LIVE.len()).collect();
    let (start, budget) = (Instant::now(), Duration::from_secs(if quick { 4 } else { 30 }));
    while start.elapsed() < budget {
        fastrand::shuffle(&mut turns);
        for &turn in &turns {
            match turn.checked_sub(LIVE.len()) {
                Some(at) => {
                    let (number, way) = (at / DORMANT.len(), at % DORMANT.len());
                    dormant[number][way].push(DORMANT[way].sample(NUMBERS[number]));
                }
                None => live[turn].push(LIVE[turn].sample()?),
            }
        }
    }
    let mut report = Report::new("tracepoints", quick);
    report_dormant(&mut report, &dormant);
    report_live(&mut report, &live, &stepped);
    report.note("ns more: median of the differences to `nothing`, round by round, for one tracepoint");
    report.fact("emission", json!({ "instructions": emission[0], "loads": emission[1] }));
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

impl Live {
    fn sample(&self) -> Result<f64> {
        let _probes = self.2()?;
        (self.1)(TURNS / 50);
        Ok(time(|| (self.1)(black_box(TURNS))) / TURNS as f64)
    }

    /// Of a turn; `None` where tracing is not allowed.
    fn instructions(&self) -> Result<Option<f64>> {
        let _probes = self.2()?;
        let steps = |turns| step::count(|| (self.1)(black_box(turns))).ok().map(|counted| counted.instructions as f64);
        Ok(steps(1 + STEPPED).zip(steps(1)).map(|(many, few)| (many - few) / STEPPED as f64))
    }
}

fn report_dormant(report: &mut Report, dormant: &[[Samples; DORMANT.len()]]) {
    let head = ["", "ns a pass", "ns more", "from", "to", "instructions", "loads", "bytes"];
    let mut facts = Vec::new();
    for (number, ways) in NUMBERS.iter().zip(dormant) {
        let mut table = Table::new(format!("{number} dormant tracepoints, {} rounds", ways[0].len()), &head);
        for (way, samples) in DORMANT.iter().zip(ways) {
            let more = samples.minus(&ways[0]);
            let [more, from, to] =
                [more.median(), more.interval()[0], more.interval()[1]].map(|ns| ns / *number as f64);
            let [path, none] = [way.path(), DORMANT[0].path()];
            let [instructions, loads, bytes] = [path[0] - none[0], path[1] - none[1], (way.2 - DORMANT[0].2) as f64]
                .map(|of_one| of_one * *number as f64);
            let times = [samples.median(), more, from, to].into_iter().zip([1, 4, 4, 4]);
            let counts = [instructions, loads, bytes].into_iter().zip([0; 3]);
            let cells = times.chain(counts).map(|(value, digits)| figure(value, digits));
            table.row([way.0.to_owned()].into_iter().chain(cells));
            facts.push(json!({
                "number": number, "check": way.0, "ns": samples.median(), "ns_more": more, "ns_interval": [from, to],
                "instructions": instructions, "loads": loads, "bytes": bytes,
            }));
        }
        report.table(table);
    }
    report.fact("dormant", json!(facts));
}

fn report_live(report: &mut Report, live: &[Samples], stepped: &[Option<f64>]) {
    let title = format!("one emission, {} rounds", live[0].len());
    let mut table = Table::new(title, &["", "ns", "ns more", "instructions"]);
    let mut facts = Vec::new();
    for ((way, samples), instructions) in LIVE.iter().zip(live).zip(stepped) {
        let (ns, more) = (samples.median(), samples.minus(&live[0]).median());
        let counted = instructions.map_or("n/a".to_owned(), |count| figure(count, 2));
        table.row([way.0.to_owned(), figure(ns, 2), figure(more, 2), counted]);
        facts.push(json!({ "probes": way.0, "ns": ns, "ns_more": more, "instructions": instructions }));
    }
    report.table(table);
    report.fact("live", json!(facts));
}
