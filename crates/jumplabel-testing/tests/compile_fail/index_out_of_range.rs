//! An element that is not there.
use jumplabel::{static_branch_unlikely, static_key};

static_key! { static KEYS: [false; 4]; }

fn main() {
    if static_branch_unlikely!(KEYS[4]) {}
}
