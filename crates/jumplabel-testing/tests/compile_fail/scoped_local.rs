//! A key with a guard must live as long as the program: a forgotten guard would hold any key that came to lie at its place later.
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
