//! A check cannot be in a `const fn`: at compile time there is no code to patch.
use jumplabel::{static_branch_likely, static_key};

static_key! { static KEY: true; }

const fn check() -> bool {
    static_branch_likely!(KEY)
}

const _: bool = check();

fn main() {}
