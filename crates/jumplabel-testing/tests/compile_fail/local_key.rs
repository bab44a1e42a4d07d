//! A key must be a static, because its sites refer to it by its symbol.
use jumplabel::{StaticKeyFalse, static_branch_unlikely};

fn main() {
    let key = StaticKeyFalse::new();
    if static_branch_unlikely!(key) {}
}
