//! A check refuses a key behind a reference, because the compiler does not know which key it is.
use jumplabel::{StaticKeyFalse, static_branch_unlikely};

static KEY: StaticKeyFalse = StaticKeyFalse::new();
static HANDLE: &StaticKeyFalse = &KEY;

struct Holder {
    key: StaticKeyFalse,
}

impl Holder {
    fn field(&self) -> bool {
        static_branch_unlikely!(self.key)
    }
}

fn behind(key: &StaticKeyFalse) -> bool {
    static_branch_unlikely!(*key)
}

fn main() {
    if static_branch_unlikely!(HANDLE) {}
    if static_branch_unlikely!(&KEY) {}
}
