//! The function that `jumplabel-bench listing` lists, with a short site.

#[path = "../../../../crates/jumplabel-bench/src/listing/function.rs"]
mod function;

use function::{Task, ask, parents, said};
use jumplabel::{static_branch_unlikely, static_key};

static_key! { static KEY: false; }

parents! {
    #[unsafe(no_mangle)]
    with_short_key: static_branch_unlikely!(KEY);
}

fn main() {
    assert_eq!(ask(with_short_key), 3);
    KEY.enable().unwrap();
    assert_eq!(ask(with_short_key), 3);
}
