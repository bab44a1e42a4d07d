//! The default of a key must be a constant.
use jumplabel::static_key;

fn verbose() -> bool {
    std::env::args().len() > 1
}

static_key! {
    static VERBOSE: verbose();
}

fn main() {}
