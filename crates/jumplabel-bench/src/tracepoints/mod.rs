//! `tracepoints`: the cost of tracepoints without probes, warm and cold, for several numbers of them; and the cost of an emission with probes.

mod dormant;
mod live;

use std::time::Instant;

use serde_json::json;

use crate::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::site::cold::Sweep;
use dormant::{Dormant, NUMBERS, WAYS};
use live::{LIVE, Live};

/// The states of the caches before a pass.
pub const STATES: [&str; 2] = ["warm", "cold"];

/// The samples of each way, for each state of the caches and each number of tracepoints.
pub type Passes = [[[Samples; WAYS.len()]; NUMBERS.len()]; STATES.len()];

pub fn run(quick: bool) -> Result<Report> {
    let emission = live::emission()?;
    let dormant = Dormant::new()?;
    let mut passes = Passes::default();
    let mut live: [Samples; LIVE.len()] = Default::default();
    let stepped = LIVE.iter().map(Live::instructions).collect::<Result<Vec<_>>>()?;
    let mut sweep = Sweep::new();
    let mut turns: Vec<usize> = (0..STATES.len() * NUMBERS.len() * WAYS.len() + LIVE.len()).collect();
    let (start, budget) = (Instant::now(), crate::samples::budget(if quick { 3 } else { 40 }));
    while start.elapsed() < budget || live[0].len() == 0 {
        fastrand::shuffle(&mut turns);
        for &turn in &turns {
            let Some(at) = turn.checked_sub(LIVE.len()) else {
                live[turn].push(LIVE[turn].sample()?);
                continue;
            };
            let (way, number, state) =
                (at % WAYS.len(), at / WAYS.len() % NUMBERS.len(), at / WAYS.len() / NUMBERS.len());
            let sweep = (state == 1).then_some(&mut sweep);
            passes[state][number][way].push(dormant.sample(way, NUMBERS[number], sweep));
        }
    }
    let mut report = Report::new("tracepoints", quick);
    dormant.report(&mut report, &passes);
    live::report(&mut report, &live, &stepped);
    report.note(
        "ns more: median of the differences to `nothing`, round by round, for one tracepoint, and its 95 % interval",
    );
    report.note(
        "a row lies in one place: of a difference below 10 % of the pass nothing is claimed but that it is small",
    );
    report
        .note("warm: the same pass was made before; cold: the caches were swept of data and of code before each pass");
    report.fact("emission", json!({ "instructions": emission[0], "loads": emission[1] }));
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}
