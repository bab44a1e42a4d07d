//! A key with a guard must be a static. Otherwise a leaked guard would later hold any key that came to lie at the same address.
use jumplabel::{RawKey, StaticKey};

fn of_the_stack() {
    let key = StaticKey::<false>::new();
    core::mem::forget(key.scoped(true));
}

fn of_any_life(key: &RawKey) {
    let _guard = key.scoped(true);
}

fn of_a_static(key: &'static RawKey) {
    let _guard = key.scoped(true);
}

fn main() {}
