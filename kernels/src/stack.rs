//! Measures how much stack each function that flips takes: on one CPU, and while the other CPU runs and is stopped.

use crate::{operations, say, unit};

#[path = "../../crates/jumplabel/tests/conformance/stack.rs"]
mod painted;

const TABLES: &[painted::Row] = &[("a table of operations", operations::toggle)];
const LISTS: &[painted::Row] = &[("C: jumplabel_set_all", unit::set_all)];

/// Measures and prints. This CPU's stack is used by nothing else meanwhile, because the other CPU sends no interrupts.
pub fn run(when: &str) {
    say!("stack in bytes, and the most that it may be, {when}:");
    let lists = if unit::SITES > 0 { LISTS } else { &[] };
    painted::rows(&[(TABLES, painted::TABLE), (lists, painted::LIST)], |name, taken, bound| {
        say!("  {name:<24} {taken:5} {bound:5}");
        assert!(taken <= bound, "{name} takes more stack than it may");
    });
}
