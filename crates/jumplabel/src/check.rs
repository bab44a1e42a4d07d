//! Checks of keys. Each check is one instruction in line (6 bytes on x86-64) and one table entry of 16 bytes.
//!
//! ```text
//!   check                yields, if it falls through (in line)     yields, if it jumps (out of line)
//!   likely               true                                      false
//!   unlikely             false                                     true
//!
//!   The compiler emits a jump where default != arm. (The arm is the value that the check yields if it falls through.)
//!                        default   arm     emitted
//!                        false     false   nop          unlikely, starts off
//!                        false     true    jmp          likely, starts off
//!                        true      false   jmp          unlikely, starts on
//!                        true      true    nop          likely, starts on
//!   After a flip, the site holds a jump where enabled != arm.
//! ```
//!
//! A site of a key declared `or_load` begins as a jump in all four rows. This jump leads to a stub, which loads the key's count. Once a
//! flip of its key has patched the site, it is like any other: see docs/how-it-works.md, "Where nothing may be patched".
//!
//! Linux has `static_branch_likely`, `static_branch_unlikely` and `static_branch_maybe` in include/linux/jump_label.h.

use crate::format::{BRANCH, JUMPS, LOADING, OFFSET_SHIFT, meta};
use crate::key::Key;
use crate::key_record::declaration::offset_in;

/// The number that a check of `key` passes to the assembler, if `key` is a whole static. It is the meta word of the table entry, except that bit 7
/// says whether the site's first state is a jump. (The assembler does not copy this bit to the table.) Everything is in one number, because each
/// constant costs the compiler as much work as a function.
#[doc(hidden)]
#[must_use]
pub const fn site_word<K: Key>(arm: bool, _key: &K) -> u64 {
    word::<K>(arm, 0)
}

/// [`site_word`] for a `key` that is a part of the static `symbol`. The bits from 8 on are the offset of `key` in `symbol`. (The meta word has this
/// offset only in a build with `jumplabel_dylib`.)
///
/// # Safety
/// `key` lies in `symbol`.
#[doc(hidden)]
#[must_use]
pub const unsafe fn site_word_in<K: Key, S>(arm: bool, key: &K, symbol: &S) -> u64 {
    // SAFETY: the caller ensures that `key` lies in `symbol`.
    word::<K>(arm, unsafe { offset_in(key, symbol) })
}

const fn word<K: Key>(arm: bool, offset: usize) -> u64 {
    let kind = if K::OR_LOAD { LOADING } else { BRANCH };
    let jumps = if K::OR_LOAD || K::DEFAULT != arm { JUMPS } else { 0 };
    meta(arm, kind, offset) as u64 | jumps | (offset as u64) << OFFSET_SHIFT
}

/// Compiles only if its argument is a key. The fallback calls this function, so that a check of anything else is a compile error there, too.
#[doc(hidden)]
pub const fn is_key<K: Key>(_: &K) {}

/// Yields whether a key is on. The code for "on" lies in line.
///
/// The key must be a static [`StaticKey`](crate::StaticKey) or [`DeferredKey`](crate::DeferredKey), an element with a constant index of a static
/// array, or a field of a static: `KEY`, `module::KEYS[3]`, `CONFIG.trace`, `CONFIG.hooks[1]`. It cannot be a reference, a local variable or a
/// parameter: if a key is chosen at run time, call its [`is_enabled`](crate::RawKey::is_enabled). `cargo build` reports an index that is out of
/// range. `cargo check` reports it only if the index is a literal.
///
/// A check is one instruction that falls through or jumps, without a load or a compare. It changes the flags and no register. Safe anywhere, signal
/// handlers included. The compiler does not vectorise a loop that contains a check. If a loop should be vectorised, move the check out of it.
#[macro_export]
macro_rules! static_branch_likely {
    // Most keys are plain names. For them, this rule gives the compiler less work than the next one.
    ($($key:ident)::+) => { $crate::__site!(true, $($key)::+, [$crate::check::site_word]($($key)::+), let _ = &$($key)::+;) };
    ($($key:tt)+) => { $crate::__static_branch!(true, $($key)+) };
}

/// Yields whether a key is on. The code for "off" lies in line. In all other respects, it is like
/// [`static_branch_likely!`](crate::static_branch_likely).
#[macro_export]
macro_rules! static_branch_unlikely {
    // Most keys are plain names. For them, this rule gives the compiler less work than the next one.
    ($($key:ident)::+) => { $crate::__site!(false, $($key)::+, [$crate::check::site_word]($($key)::+), let _ = &$($key)::+;) };
    ($($key:tt)+) => { $crate::__static_branch!(false, $($key)+) };
}

/// Yields whether a key is on. It is [`static_branch_likely!`](crate::static_branch_likely) if a constant is true, and
/// [`static_branch_unlikely!`](crate::static_branch_unlikely) if it is false: `static_branch_maybe!(cfg!(debug_assertions), CHECKS)`.
#[macro_export]
macro_rules! static_branch_maybe {
    ($likely:expr, $($key:tt)+) => { $crate::__static_branch!(const { $likely }, $($key)+) };
}

/// Yields one of two blocks: the first in a build with sites, the second in the fallback. The other block is not compiled.
///
/// Use it in a layer over keys, if the layer should do in the fallback what it would do without keys. (A check is only a load there.)
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

/// Splits the user's expression for a key into two parts: the static that the expression names, and the place of the key in that static.
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
    // In the next two rules, all indexes are literals.
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

/// A check of a key that is a part of a static. `__site!` also puts the expression for the key outside the site's assembly, so that the compiler's
/// messages are clear. If the expression has indexes, it stands in a constant there.
/// - If all indexes are literals, the constant is an item. `cargo check` evaluates items, and so reports an element that does not exist.
/// - Other indexes may use generic parameters, which an item cannot name. The compiler evaluates these constants only when it builds the program.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_in {
    ($arm:expr, $sym:path, ($($place:tt)*), $($constant:tt)*) => {
        $crate::__site!($arm, $sym, [$crate::check::site_word_in]($($place)*)($sym), $($constant)* { let _ = &$($place)*; };)
    };
}

/// A check in a build with sites: a site that can be patched.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($($site:tt)*) => { $crate::__site_options!($($site)*) };
}

/// A check in the fallback: a load, a test and a jump. It accepts the same keys as a check in a build with sites: statics, and constant places in
/// statics.
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
