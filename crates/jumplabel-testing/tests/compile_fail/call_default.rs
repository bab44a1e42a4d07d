//! The default of a static call must have the call's type. `return 0` is allowed only for result types that have a zero.
use jumplabel::static_call;

fn plain(x: u64) -> u64 {
    x
}

static_call! {
    static WRONG: fn(u32) -> u64 = plain;
    static NO_ZERO: fn(u64) -> String = return 0;
}

fn main() {}
