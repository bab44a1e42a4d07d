//! A key is declared by its default, not by its type.
use jumplabel::{StaticKeyFalse, static_key};

static_key! {
    static TRACE: StaticKeyFalse;
}

fn main() {}
