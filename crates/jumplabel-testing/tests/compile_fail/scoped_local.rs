//! A key with a guard lives as long as the program: a forgotten guard would hold whatever key came to lie where it lay.
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
