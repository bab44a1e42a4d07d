//! A key must not be a constant, because each use of a constant is a new object.
use jumplabel::{StaticKeyTrue, static_branch_likely};

const KEY: StaticKeyTrue = StaticKeyTrue::new();

fn main() {
    if static_branch_likely!(KEY) {}
}
