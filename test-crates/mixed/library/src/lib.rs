//! Rust's keys and sites, for a C program (tests/c/mixed.c).

use std::ffi::c_int;

#[cfg(feature = "capi")]
extern crate jumplabel_capi as _;

use jumplabel::{Batch, RawKey, static_branch_likely, static_branch_unlikely, static_key};

static_key! {
    static OFF: false;
    static ON: true;
}

/// What an unlikely and a likely check of each key say.
#[unsafe(no_mangle)]
pub extern "C" fn rust_state() -> c_int {
    c_int::from(static_branch_unlikely!(OFF))
        | c_int::from(static_branch_likely!(OFF)) << 1
        | c_int::from(static_branch_unlikely!(ON)) << 2
        | c_int::from(static_branch_likely!(ON)) << 3
}

/// The keys, for C to flip.
#[unsafe(no_mangle)]
pub extern "C" fn rust_key(starts_on: bool) -> *const RawKey {
    if starts_on { &*ON } else { &*OFF }
}

/// Flips keys of C's.
#[unsafe(no_mangle)]
pub extern "C" fn rust_flip(starts_off: &RawKey, starts_on: &RawKey, flipped: bool) -> bool {
    Batch::new().set(starts_off, flipped).set(starts_on, !flipped).commit().is_ok()
}
