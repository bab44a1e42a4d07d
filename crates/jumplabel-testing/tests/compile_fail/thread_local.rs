//! A key cannot be thread-local, because all threads share the code.
use jumplabel::{StaticKeyFalse, naked_key, static_branch_likely, static_branch_unlikely, static_key};

thread_local! {
    static KEY: StaticKeyFalse = const { StaticKeyFalse::new() };
    static KEYS: [StaticKeyFalse; 2] = const { [StaticKeyFalse::new(), StaticKeyFalse::new()] };
}

static_key! {
    /// Documented.
    #[thread_local]
    static OWN: false;
}
naked_key! {
    #[thread_local]
    static NAKED: false;
}

fn main() {
    if static_branch_unlikely!(KEY) {}
    if static_branch_likely!(KEYS[1]) {}
    KEY.with(|key| if static_branch_unlikely!(key) {});
}
