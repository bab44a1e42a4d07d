//! Not by way of a reference, and not behind one.
use jumplabel::{StaticKeyFalse, static_branch_unlikely};

static KEY: StaticKeyFalse = StaticKeyFalse::new();
static HANDLE: &StaticKeyFalse = &KEY;

fn main() {
    if static_branch_unlikely!(HANDLE) {}
    if static_branch_unlikely!(&KEY) {}
}
