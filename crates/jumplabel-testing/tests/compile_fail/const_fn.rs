//! A constant has no code to patch.
use jumplabel::{static_branch_likely, static_key};

static_key! { static KEY: true; }

const fn check() -> bool {
    static_branch_likely!(KEY)
}

const _: bool = check();

fn main() {}
