//! A check of a function's parameter is refused, because it could be any key.
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
