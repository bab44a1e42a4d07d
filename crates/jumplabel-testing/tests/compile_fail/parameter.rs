//! A parameter may be any key.
use jumplabel::{StaticKeyFalse, static_branch_unlikely};

struct Holder {
    key: StaticKeyFalse,
}

fn by_reference(key: &StaticKeyFalse) -> bool {
    static_branch_unlikely!(key)
}

fn field(holder: &Holder) -> bool {
    static_branch_unlikely!(holder.key)
}

fn main() {}
