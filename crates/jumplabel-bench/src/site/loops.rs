//! The warm loops: eight times {work; check} in each turn.
//!
//! ```text
//!   latency-bound    work = one multiplication that waits for the one before it       a check has time to hide
//!   ALU-saturated    work = eight additions that wait for nothing                     a check takes somebody's place
//! ```
//!
//! The work is in assembler, so that it is the same around each check; the check is what the compiler makes of it. The arm
//! that is not taken is one instruction, out of line.

use std::arch::asm;
use std::sync::atomic::Ordering;

use jumplabel::static_branch_unlikely;

use super::checks::{Check, FLAG, KEY, NAKED, OR_LOAD, UNPATCHED};

/// Checks in each turn of a loop.
pub const CHECKS_A_TURN: usize = 8;

macro_rules! eight {
    ($($body:tt)*) => {
        $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)*
    };
}

/// The arm that no check takes but that of a site that is on.
macro_rules! arm {
    ($hits:ident) => {
        // SAFETY: an increment of a register.
        unsafe { asm!("inc {}", inout(reg) $hits, options(nomem, nostack)) }
    };
}

/// Tells the compiler that the arm of a load is out of line, too.
#[cold]
#[inline]
fn unlikely() {}

macro_rules! latency {
    ($name:ident, $hits:ident, $($check:tt)*) => {
        #[inline(never)]
        #[allow(unused_mut)] // Not all checks count their hits.
        fn $name(turns: u64) -> u64 {
            let (mut x, mut $hits) = (turns, 0_u64);
            for _ in 0..turns {
                eight! {
                    // SAFETY: a multiplication of a register.
                    unsafe { asm!("imul {0}, {0}, 3", inout(reg) x, options(nomem, nostack)) };
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
        #[allow(unused_mut)] // Not all checks count their hits.
        fn $name(turns: u64) -> u64 {
            let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [turns; 8];
            let mut $hits = 0_u64;
            for _ in 0..turns {
                eight! {
                    // SAFETY: additions to registers.
                    unsafe {
                        asm!(
                            "add {}, 1", "add {}, 2", "add {}, 3", "add {}, 4",
                            "add {}, 5", "add {}, 6", "add {}, 7", "add {}, 8",
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
    ($($kind:ident: $baseline:ident $constant:ident $site:ident $unpatched:ident $or_load:ident $naked:ident $relaxed:ident $acquire:ident $seq_cst:ident;)*) => {
        $(
            $kind!($baseline, hits, let _ = &mut hits;);
            $kind!($constant, hits, if false { arm!(hits) });
            $kind!($site, hits, if static_branch_unlikely!(KEY) { arm!(hits) });
            $kind!($unpatched, hits, if static_branch_unlikely!(UNPATCHED) { arm!(hits) });
            $kind!($or_load, hits, if static_branch_unlikely!(OR_LOAD) { arm!(hits) });
            $kind!($naked, hits, if NAKED.get() { unlikely(); arm!(hits) });
            $kind!($relaxed, hits, if FLAG.0.load(Ordering::Relaxed) { unlikely(); arm!(hits) });
            $kind!($acquire, hits, if FLAG.0.load(Ordering::Acquire) { unlikely(); arm!(hits) });
            $kind!($seq_cst, hits, if FLAG.0.load(Ordering::SeqCst) { unlikely(); arm!(hits) });
        )*
    };
}

variants! {
    latency: latency_baseline latency_constant latency_site latency_unpatched latency_or_load latency_naked latency_relaxed latency_acquire latency_seq_cst;
    alu: alu_baseline alu_constant alu_site alu_unpatched alu_or_load alu_naked alu_relaxed alu_acquire alu_seq_cst;
}

/// One of the loops: takes the number of turns.
pub type Loop = fn(u64) -> u64;

/// The function of a variant.
type LoopOf = fn(Check) -> Loop;

/// The loops by name, and the function of a variant in each.
pub const LOOPS: [(&str, LoopOf); 2] = [("latency-bound", latency_of), ("ALU-saturated", alu_of)];

fn latency_of(check: Check) -> Loop {
    match check {
        Check::Baseline => latency_baseline,
        Check::Constant => latency_constant,
        Check::SiteOff | Check::SitePrimed | Check::SiteOn => latency_site,
        Check::OrLoadUnpatched => latency_unpatched,
        Check::OrLoadOff | Check::OrLoadOn => latency_or_load,
        Check::NakedOff | Check::NakedOn => latency_naked,
        Check::Relaxed => latency_relaxed,
        Check::Acquire => latency_acquire,
        Check::SeqCst => latency_seq_cst,
    }
}

fn alu_of(check: Check) -> Loop {
    match check {
        Check::Baseline => alu_baseline,
        Check::Constant => alu_constant,
        Check::SiteOff | Check::SitePrimed | Check::SiteOn => alu_site,
        Check::OrLoadUnpatched => alu_unpatched,
        Check::OrLoadOff | Check::OrLoadOn => alu_or_load,
        Check::NakedOff | Check::NakedOn => alu_naked,
        Check::Relaxed => alu_relaxed,
        Check::Acquire => alu_acquire,
        Check::SeqCst => alu_seq_cst,
    }
}
