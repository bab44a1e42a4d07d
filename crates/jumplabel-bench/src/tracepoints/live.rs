//! Measures emissions of tracepoints with probes.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jumplabel::{Probe, emit, tracepoint};
use serde_json::json;

use crate::Result;
use crate::report::{Report, Table, figure};
use crate::samples::{Samples, time};
use crate::site::decode::Path;
use crate::step;

tracepoint! {
    /// The tracepoint that is measured.
    bench, point(number: u64);
}

static SEEN: AtomicU64 = AtomicU64::new(0);

/// A probe. It is not inlined, and has no `lock` instruction.
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

/// A function with one emission. It is decoded and compared with the same function without it. (Around other work, the call in the arm out of line
/// can make the function save registers, as any call would: docs/how-it-works.md, "The site".)
#[inline(never)]
fn emits_once(number: u64) {
    emit!(point, number);
}

#[inline(never)]
fn emits_never(_: u64) {}

type Probes = Vec<Probe<point>>;

/// A case: its name, its loop, and the function that adds its probes.
pub struct Live(&'static str, fn(u64), fn() -> Result<Probes>);

fn plain(number: usize) -> Result<Probes> {
    Ok((0..number).map(|_| point.add(probe)).collect::<std::result::Result<_, _>>()?)
}

pub const LIVE: [Live; 7] = [
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
/// The number of turns that are executed step by step.
const STEPPED: u64 = 20;

/// The instructions and loads of an emission without probes, in compiled code. Returns an error if it is not one instruction without a load.
pub fn emission() -> Result<[f64; 2]> {
    black_box(&SEEN); // The compiler must not learn that nobody reads this variable.
    let [with, without] = [emits_once, emits_never].map(|function| Path::of_call(function as usize));
    let emission = [with.len() as f64 - without.len() as f64, with.loads() as f64 - without.loads() as f64];
    if !cfg!(debug_assertions) && emission != [1.0, 0.0] {
        let [instructions, loads] = emission;
        return Err(format!("an emission is {instructions} instructions and {loads} loads: not measured").into());
    }
    Ok(emission)
}

impl Live {
    pub fn sample(&self) -> Result<f64> {
        let _probes = self.2()?;
        (self.1)(TURNS / 50);
        Ok(time(|| (self.1)(black_box(TURNS))) / TURNS as f64)
    }

    /// The instructions of a turn. `None` where tracing is not allowed.
    pub fn instructions(&self) -> Result<Option<f64>> {
        let _probes = self.2()?;
        let steps = |turns| step::count(|| (self.1)(black_box(turns))).ok().map(|counted| counted.instructions as f64);
        Ok(steps(1 + STEPPED).zip(steps(1)).map(|(many, few)| (many - few) / STEPPED as f64))
    }
}

pub fn report(report: &mut Report, live: &[Samples], stepped: &[Option<f64>]) {
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
