//! A key must not be a `static mut`, because threads cannot share one.
use jumplabel::{StaticKeyFalse, static_branch_likely, static_branch_unlikely};

static mut KEY: StaticKeyFalse = StaticKeyFalse::new();
static mut KEYS: [StaticKeyFalse; 2] = [StaticKeyFalse::new(), StaticKeyFalse::new()];

fn main() {
    if static_branch_unlikely!(KEY) {}
    if static_branch_likely!(KEYS[1]) {}
}
