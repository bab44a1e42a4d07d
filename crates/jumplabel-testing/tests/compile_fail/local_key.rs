//! A key must be a static: its sites refer to it by name.
use jumplabel::{StaticKeyFalse, static_branch_unlikely};

fn main() {
    let key = StaticKeyFalse::new();
    if static_branch_unlikely!(key) {}
}
