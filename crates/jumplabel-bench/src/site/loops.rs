//! The warm loops. Each turn does eight times: work, then a check.
//!
//! ```text
//!   latency-bound    work = one multiplication that waits for the previous one     a check can run while it waits
//!   ALU-saturated    work = eight additions that do not wait for anything          a check takes an execution slot from an addition
//! ```
//!
//! The work is written in assembler, so it is the same around each check. The check is compiled code. The arm, which is not taken, is one instruction
//! out of line. Each loop has a copy in each placement.

use std::arch::asm;
use std::sync::atomic::Ordering;

use jumplabel::static_branch_unlikely;

use super::checks::{Check, FLAGS, FLAGS_ON, KEY, NAKED, OR_LOAD, UNPATCHED};
use crate::isa;
use crate::placed::{Loops, placements};

/// The number of checks in each turn of a loop.
pub const CHECKS_A_TURN: usize = 8;

macro_rules! eight {
    ($($body:tt)*) => {
        $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)*
    };
}

/// The arm, which runs only if the check is on.
macro_rules! arm {
    ($hits:ident) => {
        // SAFETY: the instruction adds in a register.
        unsafe { asm!(isa::add!("0", 1), inout(reg) $hits, options(nomem, nostack)) }
    };
}

/// Tells the compiler that the arm of a load is unlikely, so that it is out of line, too.
#[cold]
#[inline]
fn unlikely() {}

macro_rules! latency {
    ($name:ident, $hits:ident, $($check:tt)*) => {
        #[inline(never)]
        #[allow(unused_mut)] // Some checks do not count their hits.
        fn $name<const P: usize>(turns: u64) -> u64 {
            let (mut x, mut $hits) = (turns, 0_u64);
            $crate::placed::begin_at!(P);
            for _ in 0..turns {
                eight! {
                    // SAFETY: the instruction multiplies in a register.
                    unsafe { asm!($crate::isa::multiply!("0"), inout(reg) x, options(nomem, nostack)) };
                    $($check)*
                }
            }
            x ^ $hits
        }
    };
}

macro_rules! alu {
    ($name:ident, $hits:ident, $($check:tt)*) => {
        #[inline(never)]
        #[allow(unused_mut)] // Some checks do not count their hits.
        fn $name<const P: usize>(turns: u64) -> u64 {
            let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [turns; 8];
            let mut $hits = 0_u64;
            $crate::placed::begin_at!(P);
            for _ in 0..turns {
                eight! {
                    // SAFETY: the instructions add in registers.
                    unsafe {
                        asm!(
                            $crate::isa::add!("0", 1), $crate::isa::add!("1", 2), $crate::isa::add!("2", 3),
                            $crate::isa::add!("3", 4), $crate::isa::add!("4", 5), $crate::isa::add!("5", 6),
                            $crate::isa::add!("6", 7), $crate::isa::add!("7", 8),
                            inout(reg) a, inout(reg) b, inout(reg) c, inout(reg) d,
                            inout(reg) e, inout(reg) f, inout(reg) g, inout(reg) h,
                            options(nomem, nostack),
                        );
                    }
                    $($check)*
                }
            }
            a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ $hits
        }
    };
}

pub(crate) use {alu, eight, latency};

macro_rules! variants {
    ($($kind:ident: $baseline:ident $constant:ident $site:ident $unpatched:ident $or_load:ident $naked:ident $relaxed:ident $acquire:ident $seq_cst:ident $on:ident;)*) => {
        $(
            $kind!($baseline, hits, let _ = &mut hits;);
            $kind!($constant, hits, if false { arm!(hits) });
            $kind!($site, hits, if static_branch_unlikely!(KEY) { arm!(hits) });
            $kind!($unpatched, hits, if static_branch_unlikely!(UNPATCHED) { arm!(hits) });
            $kind!($or_load, hits, if static_branch_unlikely!(OR_LOAD) { arm!(hits) });
            $kind!($naked, hits, if NAKED.get() { unlikely(); arm!(hits) });
            $kind!($relaxed, hits, if FLAGS[P].0.load(Ordering::Relaxed) { unlikely(); arm!(hits) });
            $kind!($acquire, hits, if FLAGS[P].0.load(Ordering::Acquire) { unlikely(); arm!(hits) });
            $kind!($seq_cst, hits, if FLAGS[P].0.load(Ordering::SeqCst) { unlikely(); arm!(hits) });
            $kind!($on, hits, if FLAGS_ON[P].0.load(Ordering::Relaxed) { unlikely(); arm!(hits) });
        )*
    };
}

variants! {
    latency: latency_baseline latency_constant latency_site latency_unpatched latency_or_load latency_naked latency_relaxed latency_acquire latency_seq_cst latency_on;
    alu: alu_baseline alu_constant alu_site alu_unpatched alu_or_load alu_naked alu_relaxed alu_acquire alu_seq_cst alu_on;
}

/// The loops of a variant, in all placements.
type LoopsOf = fn(Check) -> Loops;

/// The loops. Each has a name, and a function that returns the loop of a variant.
pub const LOOPS: [(&str, LoopsOf); 2] = [("latency-bound", latency_of), ("ALU-saturated", alu_of)];

fn latency_of(check: Check) -> Loops {
    match check {
        Check::Baseline => placements!(latency_baseline),
        Check::Constant => placements!(latency_constant),
        Check::SiteOff | Check::SitePrimed | Check::SiteOn => placements!(latency_site),
        Check::OrLoadUnpatched => placements!(latency_unpatched),
        Check::OrLoadOff | Check::OrLoadOn => placements!(latency_or_load),
        Check::NakedOff | Check::NakedOn => placements!(latency_naked),
        Check::Relaxed => placements!(latency_relaxed),
        Check::Acquire => placements!(latency_acquire),
        Check::SeqCst => placements!(latency_seq_cst),
        Check::RelaxedOn => placements!(latency_on),
    }
}

fn alu_of(check: Check) -> Loops {
    match check {
        Check::Baseline => placements!(alu_baseline),
        Check::Constant => placements!(alu_constant),
        Check::SiteOff | Check::SitePrimed | Check::SiteOn => placements!(alu_site),
        Check::OrLoadUnpatched => placements!(alu_unpatched),
        Check::OrLoadOff | Check::OrLoadOn => placements!(alu_or_load),
        Check::NakedOff | Check::NakedOn => placements!(alu_naked),
        Check::Relaxed => placements!(alu_relaxed),
        Check::Acquire => placements!(alu_acquire),
        Check::SeqCst => placements!(alu_seq_cst),
        Check::RelaxedOn => placements!(alu_on),
    }
}
