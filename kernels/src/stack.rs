//! Measures how much stack each function that flips takes: on one CPU, and while the other CPU runs and is stopped.

use crate::{operations, say, unit};

#[path = "../../crates/jumplabel/tests/conformance/stack.rs"]
mod painted;

/// The measurement in `painted` reads this, because a kernel has other limits.
const IS_KERNEL: bool = true;

const TABLES: &[painted::Row] = &[("a table of operations", operations::toggle)];
const FLIPS: &[painted::Row] =
    &[("C: jumplabel_enable", unit::enable), ("C: static_branch_enable", unit::branch_enable)];
/// The most stack for a flip in C. It includes the frames of the functions in unit.rs and unit.c.
const OF_C: usize = painted::FLIP + 64;
const LISTS: &[painted::Row] = &[("C: set_all of 1", unit::set_all::<1>), ("C: set_all of 40", unit::set_all::<40>)];

/// Measures how much stack each function takes, and prints it. Nothing else uses this CPU's stack meanwhile, because the other CPU sends no
/// interrupts.
pub fn run(when: &str) {
    say!("stack in bytes, and the most that it may be, {when}:");
    let (flips, lists) = if unit::SITES > 0 { (FLIPS, LISTS) } else { (&[][..], &[][..]) };
    painted::rows(&[(TABLES, painted::TABLE), (flips, OF_C), (lists, painted::LIST)], |name, taken, bound| {
        say!("  {name:<24} {taken:5} {bound:5}");
        assert!(taken <= bound, "{name} takes more stack than it may");
    });
}
