//! The likely arm must be a constant.
use jumplabel::{static_branch_maybe, static_key};

static_key! { static KEY: false; }

fn check(likely: bool) -> bool {
    static_branch_maybe!(likely, KEY)
}

fn main() {
    check(true);
}
