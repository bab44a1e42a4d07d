//! A declaration ends with a semicolon.
use jumplabel::static_key;

static_key! {
    static TRACE: false
}

fn main() {}
