//! The cost of the prefix byte before a site's instruction. The warm loops run a site's instructions without the prefix, with it, and with a nop in
//! its place. The nop is a test of the measurement itself: it must cost something.

use std::arch::asm;

use serde_json::json;

use super::loops::{LOOPS, alu, eight, latency};
use crate::isa;
use crate::placed::{self, Loops, Placed, Spread, placements};
use crate::report::{Report, Table, figure};
use crate::{Result, samples};

/// The greatest ratio of a loop with the prefix to the same loop without it, over all placements.
const LIMIT: f64 = 1.01;

/// The turns of a loop in one sample, which takes about 30 us.
const TURNS: u64 = 5_000;

/// The instructions that a site can hold.
const STATES: [&str; 3] = ["nop", "test", "jmp"];

macro_rules! bare {
    ($hits:ident, $text:expr) => {
        if 'site: {
            // SAFETY: the instruction falls through or jumps to the label. It changes only the flags.
            unsafe { asm!($text, t = label { break 'site true }, options(nomem, nostack)) };
            false
        } {
            // SAFETY: the instruction adds in a register.
            unsafe { asm!(isa::add!("0", 1), inout(reg) $hits, options(nomem, nostack)) }
        }
    };
}

macro_rules! fronts {
    ($($front:literal: $($kind:ident $nop:ident $test:ident $jump:ident),*;)*) => {
        $($(
            $kind!($nop, hits, bare!(hits, concat!($front, ".byte 0x0f, 0x1f, 0x44, 0, 0 # {t}")););
            $kind!($test, hits, bare!(hits, concat!($front, ".byte 0xa9\n.long {t} - . - 4")););
            $kind!($jump, hits, bare!(hits, concat!($front, ".byte 0xe9\n.long {t} - . - 4")););
        )*)*
        /// The loops: for each text before a site's instruction and for each kind of loop, one loop for each state.
        const ALL: [[[Loops; STATES.len()]; LOOPS.len()]; 3] =
            [$([$([placements!($nop), placements!($test), placements!($jump)]),*]),*];
    };
}

fronts! {
    "": latency latency_nop latency_test latency_jump, alu alu_nop alu_test alu_jump;
    ".byte 0x40\n": latency latency_rex_nop latency_rex_test latency_rex_jump, alu alu_rex_nop alu_rex_test alu_rex_jump;
    "nop\n": latency latency_two_nop latency_two_test latency_two_jump, alu alu_two_nop alu_two_test alu_two_jump;
}

/// The indices of the texts before a site's instruction in [`ALL`].
const WITHOUT: usize = 0;
const WITH: usize = 1;
const TWIN: usize = 2;

pub(super) fn measure(report: &mut Report, quick: bool) -> Result<()> {
    let loops = |at: usize| (at % ALL.len(), at / ALL.len() % LOOPS.len(), at / ALL.len() / LOOPS.len());
    let count = ALL.len() * LOOPS.len() * STATES.len();
    let mut samples = vec![Placed::default(); count];
    placed::rounds(samples::budget(if quick { 2 } else { 20 }), count, |placement, at| {
        let (front, shape, state) = loops(at);
        samples[at].push(placement, placed::nanoseconds(&ALL[front][shape][state], placement, TURNS));
        Ok(())
    })?;
    let head = ["", "x without", "from", "to", "target", "", "a nop in its place", "from", "to"];
    let mut table = Table::new("the prefix of a site, warm", &head);
    let mut facts = Vec::new();
    for first in (0..count).step_by(ALL.len()) {
        let (_, shape, state) = loops(first);
        let what = format!("{}, {}", LOOPS[shape].0, STATES[state]);
        let over = |front: usize| samples[first + front].over(&samples[first + WITHOUT]);
        let (with, twin): (Spread, Spread) = (over(WITH), over(TWIN));
        let (cells, target) = with.judged(LIMIT, 1.0);
        report.judged(
            format!("the byte in front of a site, {what}: time, times that without it"),
            &cells[0],
            &cells[3],
            &cells[4],
        );
        let twin_cells = [twin.median, twin.range[0], twin.range[1]].map(|value| figure(value, 3));
        table.row([what.clone()].into_iter().chain(cells).chain(twin_cells));
        facts.push(json!({ "what": what, "range": with.range, "target": target, "twin": twin.median, "twin_range": twin.range }));
    }
    report.table(table);
    report.fact("prefix", json!(facts));
    Ok(())
}
