//! A site of a key that has no record, and nothing that calls the library: it must be linked, and know of the site, all the same.

use jumplabel::{StaticKeyFalse, static_branch_unlikely};

static KEY: StaticKeyFalse = StaticKeyFalse::new();

fn main() {
    println!("{}", if static_branch_unlikely!(KEY) { "on" } else { "ok" });
}
