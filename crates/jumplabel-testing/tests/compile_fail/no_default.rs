//! A key is declared with its default, not with its type.
use jumplabel::{StaticKeyFalse, static_key};

static_key! {
    static TRACE: StaticKeyFalse;
}

fn main() {}
