//! Declarations cause no warnings in the user's crate, even if their names consist of several words.

#![deny(warnings, missing_docs, nonstandard_style)]

use jumplabel::{emit, modes, naked_key, static_branch_unlikely, static_call, static_key, static_mode, static_switch, tracepoint};

static_key! {
    static ONE_KEY: false;
    static SOME_KEYS: [false; 2];
    static LATE_KEY: false, or_load;
    static SLOW_KEY: true, deferred core::time::Duration::from_millis(1);
    static TOLD_KEY: false, meta &7_u32;
}
naked_key! {
    static NEW_ROUTE: false;
}
fn one_more(x: u64) -> u64 {
    x + 1
}
static_call! {
    static NEXT_NUMBER: fn(u64) -> u64 = one_more;
    static NO_NUMBER: fn(u64) -> u64 = return 0;
    static NO_HOOK: Option<fn(u64)> = None;
}
modes! { enum SomeMode { FastWay, SlowWay } }
static_mode! { static THE_MODE: SomeMode = FastWay; }
tracepoint! { some_group, some_event(some_number: u64); }
jumplabel::ops! {
    /// Ways to count.
    static SOME_OPS: SomeOps = { FirstWay, SecondWay };
    /// Counts.
    fn some_op(number: u64) -> u64 {
        FirstWay => one_more_c;
        SecondWay => one_more_c;
    }
}
extern "C" fn one_more_c(x: u64) -> u64 {
    x + 1
}

fn main() {
    let mut sum = u64::from(static_branch_unlikely!(ONE_KEY))
        + u64::from(static_branch_unlikely!(SOME_KEYS[1]))
        + u64::from(static_branch_unlikely!(LATE_KEY))
        + u64::from(static_branch_unlikely!(SLOW_KEY))
        + u64::from(static_branch_unlikely!(TOLD_KEY))
        + u64::from(NEW_ROUTE.get());
    sum += NEXT_NUMBER(1) + NO_NUMBER(1) + some_op(1);
    NO_HOOK(1);
    emit!(some_event, sum);
    let _ = SOME_OPS.query();
    let _ = THE_MODE.set(SomeMode::SlowWay);
    static_switch!(THE_MODE, {
        FastWay => {},
        SlowWay => {},
    });
    assert_eq!(sum, 5);
}
