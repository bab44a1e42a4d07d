//! A check must name its key; a function call that returns it is refused.
use jumplabel::{StaticKeyFalse, static_branch_unlikely};

static KEY: StaticKeyFalse = StaticKeyFalse::new();

fn key() -> &'static StaticKeyFalse {
    &KEY
}

fn main() {
    if static_branch_unlikely!(key()) {}
}
