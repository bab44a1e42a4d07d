//! The default of a key must be true or false.
use jumplabel::static_key;

static_key! {
    static COUNT: 1;
}

fn main() {}
