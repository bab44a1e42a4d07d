//! A choice among three arms, in the loops of `site`. Each arm is one instruction. The variants differ in how they select the arm.

use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicU8, Ordering};

use jumplabel::{modes, static_mode, static_switch};

use crate::placed::{Loops, PLACEMENTS, placements};
use crate::site::loops::{CHECKS_A_TURN, alu, eight, latency};
use crate::{Result, isa, placed};

modes! { enum Arm { First, Second, Third } }
static_mode! { static MODE: Arm = First; }

/// The number of arms.
pub const ARMS: usize = 3;

/// An index on a cache line of its own. Nothing else that is measured shares this line.
#[repr(align(128))]
struct Index(AtomicU8);

/// The indices, one for each placement.
static INDEX: [Index; PLACEMENTS] = [const { Index(AtomicU8::new(0)) }; PLACEMENTS];

type Function = extern "C" fn(u64) -> u64;

#[unsafe(naked)]
extern "C" fn first(_hits: u64) -> u64 {
    naked_asm!(isa::returns_more!(1))
}

#[unsafe(naked)]
extern "C" fn second(_hits: u64) -> u64 {
    naked_asm!(isa::returns_more!(2))
}

#[unsafe(naked)]
extern "C" fn third(_hits: u64) -> u64 {
    naked_asm!(isa::returns_more!(3))
}

/// The table of functions. Its length is a power of two, so the index is masked and needs no bounds check.
static TABLE: [Function; 4] = [first, second, third, third];

/// An arm: adds its number, counted from 1. It is assembler, so the compiler cannot merge several arms.
macro_rules! arm {
    ($hits:ident, $number:literal) => {
        // SAFETY: the instruction adds in a register.
        unsafe { asm!(isa::add!("0", $number), inout(reg) $hits, options(nomem, nostack)) }
    };
}

macro_rules! choices {
    ($($kind:ident: $baseline:ident $constant:ident $switch:ident $match:ident $table:ident;)*) => {$(
        $kind!($baseline, hits, let _ = &mut hits;);
        $kind!($constant, hits, arm!(hits, 1););
        $kind!($switch, hits, static_switch!(MODE, {
            First => arm!(hits, 1),
            Second => arm!(hits, 2),
            Third => arm!(hits, 3),
        }););
        $kind!($match, hits, match INDEX[P].0.load(Ordering::Relaxed) {
            0 => arm!(hits, 1),
            1 => arm!(hits, 2),
            _ => arm!(hits, 3),
        });
        $kind!($table, hits, hits = TABLE[usize::from(INDEX[P].0.load(Ordering::Relaxed) & 3)](hits););
    )*};
}

choices! {
    latency: latency_baseline latency_constant latency_switch latency_match latency_table;
    alu: alu_baseline alu_constant alu_switch alu_match alu_table;
}

/// A way to choose the arm.
#[derive(Clone, Copy, PartialEq)]
pub enum Choice {
    /// The loop without a choice and without an arm.
    Baseline,
    /// The compiler knows the arm.
    Constant,
    Switch,
    /// A match on a relaxed load.
    Match,
    /// A call through a table of functions. The index is a relaxed load.
    Table,
}

/// The choices in the order of the report. Each has the index of the arm that it takes.
pub const CHOICES: [(Choice, usize); 11] = [
    (Choice::Baseline, 0),
    (Choice::Constant, 0),
    (Choice::Switch, 0),
    (Choice::Switch, 1),
    (Choice::Switch, 2),
    (Choice::Match, 0),
    (Choice::Match, 1),
    (Choice::Match, 2),
    (Choice::Table, 0),
    (Choice::Table, 1),
    (Choice::Table, 2),
];

impl Choice {
    pub fn name(self) -> &'static str {
        match self {
            Choice::Baseline => "baseline",
            Choice::Constant => "constant",
            Choice::Switch => "static_switch",
            Choice::Match => "match on a relaxed load",
            Choice::Table => "table of functions",
        }
    }

    /// The loops of the choice. `shape` is the index of the loop in `site`.
    pub fn loops(self, shape: usize) -> Loops {
        let [latency, alu]: [Loops; 2] = match self {
            Choice::Baseline => [placements!(latency_baseline), placements!(alu_baseline)],
            Choice::Constant => [placements!(latency_constant), placements!(alu_constant)],
            Choice::Switch => [placements!(latency_switch), placements!(alu_switch)],
            Choice::Match => [placements!(latency_match), placements!(alu_match)],
            Choice::Table => [placements!(latency_table), placements!(alu_table)],
        };
        [latency, alu][shape]
    }

    /// Makes all choices take the same arm.
    pub fn prepare(arm: usize) -> Result<()> {
        MODE.set([Arm::First, Arm::Second, Arm::Third][arm])?;
        INDEX.iter().for_each(|index| index.0.store(arm as u8, Ordering::Relaxed));
        Ok(())
    }

    /// Checks that the choice takes the arm that `prepare` has set.
    pub fn verify(self, arm: usize, shape: usize) -> Result<()> {
        const TURNS: u64 = 3;
        let added = match self {
            Choice::Baseline => 0,
            _ => (arm as u64 + 1) * TURNS * CHECKS_A_TURN as u64,
        };
        // A loop returns the result of its work, combined by `^` with the sum that its arms added.
        let [own, base] = [self, Choice::Baseline].map(|choice| choice.loops(shape));
        let takes = |at| placed::run(&own, at, TURNS) ^ placed::run(&base, at, TURNS) == added;
        match (0..PLACEMENTS).all(takes) {
            true => Ok(()),
            false => Err(format!("{} does not take arm {arm}", self.name()).into()),
        }
    }
}
