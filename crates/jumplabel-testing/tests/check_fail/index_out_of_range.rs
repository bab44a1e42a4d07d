//! A check of an element that does not exist is refused.
use jumplabel::{StaticKeyFalse, static_branch_likely, static_branch_maybe, static_branch_unlikely, static_key};

static_key! { static KEYS: [false; 4]; }

struct Config {
    hooks: [StaticKeyFalse; 2],
}
static CONFIG: Config = Config { hooks: [StaticKeyFalse::new(), StaticKeyFalse::new()] };

fn main() {
    if static_branch_unlikely!(KEYS[4]) {}
    if static_branch_likely!(CONFIG.hooks[2]) {}
    if static_branch_maybe!(true, crate::KEYS[9]) {}
}
