//! Another crate's keys and checks.
//!
//! A private key that is checked in a generic or `#[inline]` function gets its sites in the crate that calls it; a function
//! that nobody calls leaves nothing behind.

use jumplabel::{RawKey, naked_key, static_branch_likely, static_branch_unlikely, static_key};
use std::hint::black_box;

mod alone;

static_key! {
    /// Checked here and in the program.
    pub static OPEN: false;
    /// Eight keys, of which the program checks some.
    pub static SEVERAL: [true; 8];
    /// Checked in a function that is dropped, and nowhere else.
    pub static DEAD: false;
    static GENERIC: true;
    static INLINE: false;
    static FORCED: true;
}

naked_key! {
    /// Checked here and in the program.
    pub static NAKED: false;
    /// Checked by nobody: the linker drops its function.
    pub static NAKED_DEAD: true;
    static NAKED_GENERIC: true;
    static NAKED_INLINE: false;
}

/// The private keys, to flip them.
pub fn private(name: &str) -> &'static RawKey {
    match name {
        "generic" => &GENERIC,
        "inline" => &INLINE,
        "naked generic" => &NAKED_GENERIC,
        "naked inline" => &NAKED_INLINE,
        _ => &FORCED,
    }
}

/// A site in this crate, for a key that the program checks too.
#[inline(never)]
pub fn open() -> bool {
    static_branch_unlikely!(OPEN)
}

/// Compiled where it is used.
#[inline(never)]
pub fn generic<T>() -> bool {
    black_box(std::any::type_name::<T>());
    static_branch_likely!(GENERIC)
}

/// Compiled where it is used, if the compiler likes.
#[inline]
pub fn inline() -> bool {
    static_branch_unlikely!(INLINE)
}

/// Compiled into its caller at every level.
#[inline(always)]
pub fn forced() -> bool {
    static_branch_unlikely!(FORCED)
}

/// Nobody calls this: the linker drops it, and its entries with it.
#[inline(never)]
pub fn dead(x: u32) -> u32 {
    if static_branch_likely!(DEAD) {
        x + 1
    } else if static_branch_unlikely!(DEAD) {
        x + 2
    } else {
        black_box(x)
    }
}

/// A check in this crate, of a key that the program checks too.
#[inline(never)]
pub fn naked() -> bool {
    NAKED.get()
}

/// Compiled where it is used.
#[inline(never)]
pub fn naked_generic<T>() -> bool {
    black_box(std::any::type_name::<T>());
    NAKED_GENERIC.get()
}

/// Compiled where it is used, if the compiler likes.
#[inline]
pub fn naked_inline() -> bool {
    NAKED_INLINE.get()
}
