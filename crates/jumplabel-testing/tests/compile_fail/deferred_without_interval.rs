//! The declaration of a deferred key must give its interval.
use jumplabel::static_key;

static_key! {
    static SLOW: false, deferred;
}

fn main() {}
