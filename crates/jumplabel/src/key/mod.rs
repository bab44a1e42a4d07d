//! Keys: static objects with a count. A count above 0 means that the key is on.
//!
//! ```
//! use jumplabel::{static_branch_unlikely, static_key};
//!
//! static_key! {
//!     /// Log every request.
//!     pub static TRACE: false;
//!     static VERIFY: true;
//!     static HOOKS: [false; 8];
//! }
//!
//! fn handle(request: &str) -> usize {
//!     if static_branch_unlikely!(TRACE) {
//!         println!("{request}");
//!     }
//!     request.len()
//! }
//!
//! assert_eq!(handle("a"), 1);
//! TRACE.enable()?;
//! HOOKS[3].inc()?;
//! assert!(TRACE.is_enabled() && VERIFY.is_enabled() && HOOKS[3].count() == 1);
//! # Ok::<(), jumplabel::Error>(())
//! ```
//!
//! A key's default is part of the key's type. So when the compiler compiles a check, it knows which instruction to emit: one that falls through, or a
//! jump.

// Items with `doc(hidden)` are public because macros and tests use them.
mod declare;
#[cfg(jumplabel_threads)]
pub mod deferred;
pub(crate) mod flip;
pub(crate) mod info;
pub mod naked;
pub(crate) mod named;
mod or_load;

use crate::key_record::declaration::Keys;
#[doc(hidden)]
pub use crate::raw::count;
pub use crate::raw::key::RawKey;
pub use or_load::OrLoadKey;

/// A static key. `DEFAULT` says whether the key starts on. Declare the key with [`static_key!`](crate::static_key), or as a field of a static.
/// Dereferences to [`RawKey`], which has the methods that flip the key and read its state. With `OR_LOAD`, the key is an [`OrLoadKey`].
#[repr(transparent)]
pub struct StaticKey<const DEFAULT: bool, const OR_LOAD: bool = false> {
    raw: RawKey,
}

impl<const DEFAULT: bool, const OR_LOAD: bool> core::fmt::Debug for StaticKey<DEFAULT, OR_LOAD> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.raw.fmt(f)
    }
}

/// A key that starts on (Linux: `struct static_key_true`).
pub type StaticKeyTrue = StaticKey<true>;
/// A key that starts off (Linux: `struct static_key_false`).
pub type StaticKeyFalse = StaticKey<false>;

impl<const DEFAULT: bool, const OR_LOAD: bool> StaticKey<DEFAULT, OR_LOAD> {
    /// Makes a key in its default state.
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a key must be a static.
    pub const fn new() -> Self {
        StaticKey { raw: RawKey::new(DEFAULT) }
    }

    /// Returns the key without its type, so that keys of different types fit into one list. Works in constants, too.
    #[must_use]
    pub const fn raw(&'static self) -> &'static RawKey {
        &self.raw
    }
}

impl<const DEFAULT: bool, const OR_LOAD: bool> core::ops::Deref for StaticKey<DEFAULT, OR_LOAD> {
    type Target = RawKey;
    fn deref(&self) -> &RawKey {
        &self.raw
    }
}

/// A type of keys that [`static_branch_likely!`](crate::static_branch_likely) and [`static_branch_unlikely!`](crate::static_branch_unlikely) can
/// check. The compiler knows the default of such a key.
///
/// # Safety
/// A value of this type begins with a [`RawKey`] that was made with `DEFAULT`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a static key",
    label = "this is not a static key",
    note = "static_branch_likely! and static_branch_unlikely! take a static declared with static_key!, an element of an \
            array of keys with a constant index, or a field of type StaticKey in a static; ask a key that is chosen at run time by \
            `key.is_enabled()`"
)]
pub unsafe trait Key {
    /// Whether the key starts on.
    const DEFAULT: bool;
    /// Whether each check loads the count until the check is patched; see [`OrLoadKey`].
    const OR_LOAD: bool = false;
}

// SAFETY: a `StaticKey` has the layout of its only field, a `RawKey` made with `DEFAULT`.
unsafe impl<const DEFAULT: bool, const OR_LOAD: bool> Key for StaticKey<DEFAULT, OR_LOAD> {
    const DEFAULT: bool = DEFAULT;
    const OR_LOAD: bool = OR_LOAD;
}

impl<K: Key> Keys for K {
    const COUNT: usize = 1;
    const STRIDE: usize = 0;
    const DEFAULT: bool = K::DEFAULT;
}

impl<K: Key, const N: usize> Keys for [K; N] {
    const COUNT: usize = N;
    const STRIDE: usize = size_of::<K>();
    const DEFAULT: bool = K::DEFAULT;
}
