//! Static calls that another crate calls, too.

use jumplabel::static_call;

/// The default.
pub fn one(number: u64) -> u64 {
    number.wrapping_add(1)
}

static_call! {
    pub static SHARED: fn(u64) -> u64 = one;
    pub static QUIET: Option<fn(u64)> = None;
    pub static ZERO: fn(u64) -> u64 = return 0;
}

/// Calls from here.
#[inline(never)]
pub fn here(number: u64) -> u64 {
    SHARED(SHARED(number)) + ZERO(number)
}

/// A call in the place of the last instruction.
#[inline(never)]
pub fn tail(number: u64) -> u64 {
    SHARED(number)
}
