//! A naked key is checked by `get`, and one of `static_key!` by `static_branch_*`.
use jumplabel::{naked_key, static_branch_likely, static_key};

naked_key! { static NAKED: false; }
static_key! { static SITE: false; }

fn main() {
    if static_branch_likely!(NAKED) {}
    if SITE.get() {}
}
