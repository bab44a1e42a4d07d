//! A Rust program with a C library (tests/c/side.c): each flips its own keys and the other's.

use std::ffi::c_int;

use jumplabel::{
    Batch, RawKey, StaticKeyFalse, StaticKeyTrue, static_branch_likely, static_branch_unlikely, static_key,
};

#[link(name = "side")]
unsafe extern "C" {
    safe fn c_state() -> c_int;
    safe fn c_flip(starts_off: &RawKey, starts_on: &RawKey, flipped: bool) -> bool;
    safe static side_off: StaticKeyFalse;
    safe static side_on: StaticKeyTrue;
}

static_key! {
    static OFF: false;
    static ON: true;
}

fn state() -> c_int {
    c_int::from(static_branch_unlikely!(OFF))
        | c_int::from(static_branch_likely!(OFF)) << 1
        | c_int::from(static_branch_unlikely!(ON)) << 2
        | c_int::from(static_branch_likely!(ON)) << 3
}

fn flip(starts_off: &RawKey, starts_on: &RawKey, flipped: bool) -> bool {
    Batch::new().set(starts_off, flipped).set(starts_on, !flipped).commit().is_ok()
}

fn main() {
    let (default, flipped) = (12, 3);
    assert_eq!((state(), c_state()), (default, default));
    assert!(c_flip(&OFF, &ON, true) && flip(&side_off, &side_on, true));
    assert_eq!((state(), c_state()), (flipped, flipped));
    assert!(flip(&OFF, &ON, false) && c_flip(&side_off, &side_on, false));
    assert_eq!((state(), c_state()), (default, default));
    println!("ok");
}
