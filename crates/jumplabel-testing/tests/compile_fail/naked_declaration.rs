//! A naked key is no array and has no deferred `dec`.
use jumplabel::naked_key;

naked_key! {
    static KEYS: [false; 4];
}
naked_key! {
    static SLOW: false, deferred std::time::Duration::from_secs(1);
}
naked_key! {
    static ROUTE: false
}

fn main() {}
