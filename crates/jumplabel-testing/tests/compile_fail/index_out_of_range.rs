//! An element that does not exist is refused, also if the index is no literal. (../check_fail has literals.)
use jumplabel::{static_branch_unlikely, static_key};

static_key! { static KEYS: [false; 4]; }

fn main() {
    if static_branch_unlikely!(KEYS[2 + 2]) {}
}
