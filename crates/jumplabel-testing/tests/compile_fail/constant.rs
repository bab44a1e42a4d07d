//! A constant is not one object but a new one at each use.
use jumplabel::{StaticKeyTrue, static_branch_likely};

const KEY: StaticKeyTrue = StaticKeyTrue::new();

fn main() {
    if static_branch_likely!(KEY) {}
}
