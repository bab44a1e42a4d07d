//! A deferred key says how long.
use jumplabel::static_key;

static_key! {
    static SLOW: false, deferred;
}

fn main() {}
