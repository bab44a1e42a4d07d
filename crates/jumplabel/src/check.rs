//! Checks of keys. Each check is one instruction in line (6 bytes on x86-64) and one table entry of 16 bytes.
//!
//! ```text
//!   check                yields, if it falls through (in line)     yields, if it jumps (out of line)
//!   likely               true                                      false
//!   unlikely             false                                     true
//!
//!   The compiler emits a jump where default != arm. (arm: what the check yields if it falls through)
//!                        default   arm     emitted
//!                        false     false   nop          unlikely, starts off
//!                        false     true    jmp          likely, starts off
//!                        true      false   jmp          unlikely, starts on
//!                        true      true    nop          likely, starts on
//!   After a flip, the site holds a jump where enabled != arm.
//! ```
//!
//! A site of a key declared `or_load` begins as a jump in all four rows: to a stub that loads the key's count. After its first flip, it is like any
//! other site: docs/how-it-works.md, "Where nothing may be patched".
//!
//! Linux: `static_branch_likely`, `static_branch_unlikely`, `static_branch_maybe` in include/linux/jump_label.h.

use crate::format::{BRANCH, JUMPS, LOADING, OFFSET_SHIFT, meta};
use crate::key::Key;
use crate::key_record::declaration::offset_in;

/// The number that the assembler gets for a check of `key`, if `key` is a whole static. The number is the entry's meta word, with one exception:
/// bit 7 says whether the site's first state is a jump. (The assembler does not copy this bit to the table.) There is only one number, because each
/// constant costs the compiler as much work as a function.
#[doc(hidden)]
#[must_use]
pub const fn site_word<K: Key>(arm: bool, _key: &K) -> u64 {
    word::<K>(arm, 0)
}

/// [`site_word`] for a `key` that lies in `symbol`. The bits from 8 on are the key's offset in `symbol`. (Only in a `dylib`, the meta word also has
/// this offset.)
///
/// # Safety
/// `key` lies in `symbol`.
#[doc(hidden)]
#[must_use]
pub const unsafe fn site_word_in<K: Key, S>(arm: bool, key: &K, symbol: &S) -> u64 {
    // SAFETY: the caller says that `key` lies in `symbol`.
    word::<K>(arm, unsafe { offset_in(key, symbol) })
}

const fn word<K: Key>(arm: bool, offset: usize) -> u64 {
    let kind = if K::OR_LOAD { LOADING } else { BRANCH };
    let jumps = if K::OR_LOAD || K::DEFAULT != arm { JUMPS } else { 0 };
    meta(arm, kind, offset) as u64 | jumps | (offset as u64) << OFFSET_SHIFT
}

/// Accepts only keys, so that code that checks something else does not compile. For builds without sites.
#[doc(hidden)]
pub const fn is_key<K: Key>(_: &K) {}

/// Yields whether a key is on. The code for "on" lies in line.
///
/// Takes a static [`StaticKey`](crate::StaticKey) or [`DeferredKey`](crate::DeferredKey), an element with a constant index of a static array, or
/// a field of a static: `KEY`, `module::KEYS[3]`, `CONFIG.trace`, `CONFIG.hooks[1]`. A reference, a local variable or a parameter is not
/// allowed: if a key is chosen at run time, ask it with [`is_enabled`](crate::RawKey::is_enabled). `cargo build` reports each element that does
/// not exist. `cargo check` reports it if the index is a literal.
///
/// A check is one instruction that falls through or jumps: no load, no compare. It writes no register, but the flags change. Safe anywhere,
/// signal handlers included. The compiler does not vectorise a loop that contains a check. For a loop that should be vectorised, move the check
/// out of it.
#[macro_export]
macro_rules! static_branch_likely {
    // Most keys are plain names. For them, this rule gives the compiler less work than the next one.
    ($($key:ident)::+) => { $crate::__site!(true, $($key)::+, [$crate::check::site_word]($($key)::+), let _ = &$($key)::+;) };
    ($($key:tt)+) => { $crate::__static_branch!(true, $($key)+) };
}

/// Yields whether a key is on. The code for "off" lies in line. Otherwise like [`static_branch_likely!`](crate::static_branch_likely).
#[macro_export]
macro_rules! static_branch_unlikely {
    // Most keys are plain names. For them, this rule gives the compiler less work than the next one.
    ($($key:ident)::+) => { $crate::__site!(false, $($key)::+, [$crate::check::site_word]($($key)::+), let _ = &$($key)::+;) };
    ($($key:tt)+) => { $crate::__static_branch!(false, $($key)+) };
}

/// [`static_branch_likely!`](crate::static_branch_likely) if a constant is true, otherwise
/// [`static_branch_unlikely!`](crate::static_branch_unlikely): `static_branch_maybe!(cfg!(debug_assertions), CHECKS)`.
#[macro_export]
macro_rules! static_branch_maybe {
    ($likely:expr, $($key:tt)+) => { $crate::__static_branch!(const { $likely }, $($key)+) };
}

/// Yields one of two blocks: the first in a build with sites, the second in the fallback. The other block is not compiled.
///
/// Use it in a layer that must behave as it would without keys, where a check is only a load:
///
/// ```
/// # use jumplabel::{if_sites, static_branch_unlikely, static_key};
/// static_key! { static TRACE: false; }
/// let may_trace = if_sites!({ static_branch_unlikely!(TRACE) } else { true });
/// ```
#[cfg(jumplabel_sites)]
#[macro_export]
macro_rules! if_sites {
    ({ $($sites:tt)* } else { $($fallback:tt)* }) => {{ $($sites)* }};
}

/// Yields one of two blocks: the first in a build with sites, the second in the fallback. The other block is not compiled.
#[cfg(not(jumplabel_sites))]
#[macro_export]
macro_rules! if_sites {
    ({ $($sites:tt)* } else { $($fallback:tt)* }) => {{ $($fallback)* }};
}

/// Splits the user's expression for a key into the static that it names, and the place in that static.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_branch {
    (@not $what:literal) => {
        compile_error!(::core::concat!("expected a static key, not ", $what, ": NAME, path::NAME, NAME[CONSTANT] or NAME.field. A site \
            is tied to its key when the program is linked; ask a key that is chosen at run time by `key.is_enabled()`"))
    };
    ($arm:expr, & $($rest:tt)*) => { $crate::__static_branch!(@not "a reference") };
    ($arm:expr, * $($rest:tt)*) => { $crate::__static_branch!(@not "what a reference leads to") };
    ($arm:expr, self . $($rest:tt)*) => { $crate::__static_branch!(@not "a field of `self`") };
    ($arm:expr, $($function:ident)::+ ( $($arguments:tt)* ) $($rest:tt)*) => { $crate::__static_branch!(@not "a call") };
    ($arm:expr, $key:path) => { $crate::__site!($arm, $key, [$crate::check::site_word]($key), let _ = &$key;) };
    ($arm:expr, $($key:ident)::+ $(. $field:tt)+) => { $crate::__site_in!($arm, $($key)::+, ($($key)::+ $(. $field)+),) };
    // The next two rules are for indexes that are literals.
    ($arm:expr, $key:path $([ $index:literal ] $(. $field:tt)*)+) => {
        $crate::__site_in!($arm, $key, ($key $([ $index ] $(. $field)*)+), const _: () = )
    };
    ($arm:expr, $($key:ident)::+ $(. $outer:tt)+ $([ $index:literal ] $(. $field:tt)*)+) => {
        $crate::__site_in!($arm, $($key)::+, ($($key)::+ $(. $outer)+ $([ $index ] $(. $field)*)+), const _: () = )
    };
    ($arm:expr, $key:path [ $($index:tt)+ ] $($rest:tt)*) => {
        $crate::__site_in!($arm, $key, ($key [ $($index)+ ] $($rest)*), const)
    };
    ($arm:expr, $($key:ident)::+ . $($rest:tt)+) => { $crate::__site_in!($arm, $($key)::+, ($($key)::+ . $($rest)+), const) };
    ($arm:expr, $($other:tt)*) => { $crate::__static_branch!(@not "this") };
}

/// A check of a key that lies somewhere in a static. The expression for the key also stands outside the site, so that the compiler's messages are
/// clear. If it has indexes, it stands there in a constant. If all indexes are literals, the constant is an item. `cargo check` evaluates items,
/// and so finds an element that does not exist. Other indexes may use generic parameters, which no item can name. The compiler evaluates their
/// constants only when it builds the program.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_in {
    ($arm:expr, $sym:path, ($($place:tt)*), $($constant:tt)*) => {
        $crate::__site!($arm, $sym, [$crate::check::site_word_in]($($place)*)($sym), $($constant)* { let _ = &$($place)*; };)
    };
}

/// A check, in a build with sites: a site that can be patched.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($($site:tt)*) => { $crate::__site_options!($($site)*) };
}

/// A check in the fallback: a load, a test, a jump. It accepts what a site accepts: a static, and constant places in a static.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($arm:expr, $sym:path, [$($word:tt)*]($($place:tt)*) $(($symbol:path))?, $($outside:tt)*) => {{
        $($outside)*
        const { $crate::check::is_key(&$($place)*); }
        let _: bool = $arm;
        ::core::ops::Deref::deref(&$($place)*).is_enabled()
    }};
}
