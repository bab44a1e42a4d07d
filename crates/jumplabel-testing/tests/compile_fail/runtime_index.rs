//! The index of an element must be a constant.
use jumplabel::{static_branch_unlikely, static_key};

static_key! { static KEYS: [false; 4]; }

fn check(index: usize) -> bool {
    static_branch_unlikely!(KEYS[index])
}

fn main() {
    check(1);
}
