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
//! A key's default is part of its type, so the compiler knows the first instruction of a check.

// What is hidden is public for the macros and for tests.
mod atomic;
#[doc(hidden)]
pub mod count;
#[cfg(feature = "std")]
pub mod deferred;
pub(crate) mod flip;
pub(crate) mod info;
pub mod naked;
pub(crate) mod raw;

use crate::record::declaration::Keys;
pub use raw::RawKey;

/// A static key with its default. Declare it with [`static_key!`](crate::static_key), or as a field of a static.
/// Dereferences to [`RawKey`], which has the methods. With `OR_LOAD`, it is an [`OrLoadKey`].
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

/// A key that works where the system lets nobody change code: until one of its checks is patched, that check loads the key's
/// count. Declare it with [`static_key!`](crate::static_key): `static TRACE: false, or_load;`. For libraries, which cannot know
/// what the program may do.
///
/// A check that was never patched costs a jump, a load, a test and a jump. So does one that jumps, patched or not: a check
/// costs nothing once it was patched and the key has its arm in line. Checks begin unpatched; those that are to fall through are patched by
/// [`prepare()`](crate::prepare), by [`settle`](crate::settle) of the key, and by the first flip of the key to that state.
/// Each costs some 20 bytes of code beside.
///
/// If patching is refused, `enable` and the like still succeed, and say in [`Outcome::loading`](crate::Outcome::loading) how many sites go on loading.
/// They fail where patching worked before: a check that was patched to fall through cannot be made to load again. Then nothing changes, as with
/// any error.
///
/// There is no naked key of this sort: an atomic costs less than a call of a function that loads.
pub type OrLoadKey<const DEFAULT: bool> = StaticKey<DEFAULT, true>;

impl<const DEFAULT: bool, const OR_LOAD: bool> StaticKey<DEFAULT, OR_LOAD> {
    /// A key in its default state.
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a key must be a static.
    pub const fn new() -> Self {
        StaticKey { raw: RawKey::new(DEFAULT) }
    }

    /// The key without its type, in constants too: for lists of keys of all kinds.
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

/// What can be checked: a key whose default is known to the compiler.
///
/// # Safety
/// The implementor begins with a [`RawKey`] made with `DEFAULT`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a static key",
    label = "this is not a static key",
    note = "static_branch_likely! and static_branch_unlikely! take a static declared with static_key!, an element of an \
            array of keys with a constant index, or a field of type StaticKey in a static; ask a key that is chosen at run time by \
            `key.is_enabled()`"
)]
pub unsafe trait Key {
    /// The state that the key starts in.
    const DEFAULT: bool;
    /// Whether its checks load the count where they were not patched; see [`OrLoadKey`].
    const OR_LOAD: bool = false;
}

// SAFETY: transparent over a RawKey made with DEFAULT.
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

/// Declares keys.
///
/// ```
/// jumplabel::static_key! {
///     /// A key that starts off: `StaticKey<false>`.
///     pub static TRACE: false;
///     /// One that starts on.
///     static VERIFY: true;
///     /// Eight keys, checked as `HOOKS[0]` to `HOOKS[7]`.
///     static HOOKS: [false; 8];
///     /// Linux's `DEFINE_STATIC_KEY_MAYBE`: the default is any constant.
///     static CHECKS: cfg!(debug_assertions);
///     /// A key with a rate-limited `dec`: at most one flip in a second (needs the feature `std`).
///     static NET: false, deferred core::time::Duration::from_secs(1);
///     /// A key that works where nothing may be patched: [`OrLoadKey`](crate::OrLoadKey). Arrays and deferred keys, too.
///     static LOG: false, or_load;
///     static LEVELS: [false; 5], or_load;
///     static SLOW: false, or_load, deferred core::time::Duration::from_secs(1);
///     /// A name for operators, in place of the path, and something of yours that goes with the key.
///     #[key(name = "net.trace")]
///     static NET_TRACE: false, meta &ABOUT;
/// }
/// struct About(&'static str);
/// static ABOUT: About = About("traces packets");
///
/// # fn main() -> Result<(), jumplabel::Error> {
/// # #[cfg(not(target_family = "wasm"))] {
/// let key = jumplabel::find_key("net.trace")?;
/// assert_eq!(key.meta::<About>().map(|about| about.0), Some("traces packets"));
/// # }
/// # Ok(())
/// # }
/// ```
///
/// *Place.* A module or a function; names in the default and in what follows it are then looked up in the module around it. An `impl`
/// block has no statics: declare the key beside it.
///
/// *Name.* [`find_key`](crate::find_key) takes the path of the static, `crate::module::NAME`; functions are not part of it. What
/// `#[key(name = "...")]` gives, any constant text, takes the place of the path, for all elements of an array. A macro that
/// declares keys can make names unique with it: `#[key(name = concat!("hook.", stringify!($hook)))]`. Else the place of the macro's
/// invocation tells its keys apart: see [`KeyInfo`](crate::KeyInfo).
///
/// *Meta.* `, meta &META` comes last, and is a reference to anything that is `Sync` and lives as long as the program.
/// [`KeyInfo::meta`](crate::KeyInfo::meta) returns it to those who ask for its type.
///
/// Costs 8 bytes of data a key, and, for a declaration, 40 bytes of read-only record with the texts of path, name and file; a
/// `meta` costs a function of some 40 bytes. No relocation, no start-up work. (Builds without sites have both.)
#[macro_export]
macro_rules! static_key {
    () => {};
    // A default that is a literal: the documentation of the user's crate shows the type without braces.
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$default:literal; $count:expr] $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: [$crate::StaticKey<$default>; $count] = [const { $crate::StaticKey::new() }; $count]
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:literal, deferred $interval:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::DeferredKey<$default> = $crate::DeferredKey::new($interval)
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:literal $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::StaticKey<$default> = $crate::StaticKey::new()
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$default:expr; $count:expr] $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: [$crate::StaticKey<{ $default }>; $count] = [const { $crate::StaticKey::new() }; $count]
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, deferred; $($rest:tt)*) => {
        compile_error!(::core::concat!("a deferred key has an interval: `static ", ::core::stringify!($name), ": ", ::core::stringify!($default),
            ", deferred Duration::from_secs(1);`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, meta $meta:expr, $($rest:tt)*) => {
        compile_error!(::core::concat!("`meta` comes last: `static ", ::core::stringify!($name), ": ", ::core::stringify!($default), ", ..., meta ",
            ::core::stringify!($meta), ";`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr) => {
        compile_error!(::core::concat!("a declaration ends with `;`: `static ", ::core::stringify!($name), ": ", ::core::stringify!($default), ";`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, deferred $interval:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::DeferredKey<{ $default }> = $crate::DeferredKey::new($interval)
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::StaticKey<{ $default }> = $crate::StaticKey::new()
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$default:expr; $count:expr], or_load $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: [$crate::OrLoadKey<{ $default }>; $count] = [const { $crate::StaticKey::new() }; $count]
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, or_load $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::OrLoadKey<{ $default }> = $crate::StaticKey::new()
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, or_load, deferred $interval:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::DeferredKey<{ $default }, true> = $crate::DeferredKey::new($interval)
        }
        $crate::static_key! { $($rest)* }
    };
}

/// One declaration: the static, its record, and what else it needs, in a module of the same name, because `global_asm!` must
/// stand in a module and keys may be declared in functions. `#[cfg]` is for all of it, other attributes are for the static.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_key {
    (@sort $cfg:tt $attr:tt $name:tt $meta:tt #[thread_local] $($rest:tt)*) => {
        compile_error!("a key is one for all threads, which share the code that its sites are in: it cannot be `#[thread_local]`");
    };
    (@sort [$($cfg:tt)*] $attr:tt $name:tt $meta:tt #[cfg $condition:tt] $($rest:tt)*) => {
        $crate::__static_key! { @sort [$($cfg)* #[cfg $condition]] $attr $name $meta $($rest)* }
    };
    (@sort $cfg:tt $attr:tt [] $meta:tt #[key(name = $name:expr)] $($rest:tt)*) => {
        $crate::__static_key! { @sort $cfg $attr [$name] $meta $($rest)* }
    };
    (@sort $cfg:tt $attr:tt $name:tt [] #[key(meta = $meta:expr)] $($rest:tt)*) => {
        $crate::__static_key! { @sort $cfg $attr $name [$meta] $($rest)* }
    };
    (@sort $cfg:tt $attr:tt $name:tt $meta:tt #[key $($other:tt)*] $($rest:tt)*) => {
        compile_error!("expected `#[key(name = \"a.name\")]`, once");
    };
    (@sort $cfg:tt [$($attr:tt)*] $name:tt $meta:tt #[$other:meta] $($rest:tt)*) => {
        $crate::__static_key! { @sort $cfg [$($attr)* #[$other]] $name $meta $($rest)* }
    };
    (
        @sort [$($cfg:tt)*] [$($attr:tt)*] [$($given:expr)?] $meta:tt
        $vis:vis $name:ident: $type:ty = $value:expr $(; $($more:tt)*)?
    ) => {
        $($cfg)*
        #[allow(non_snake_case)]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $($attr)*
            pub static $name: $type = $value;
            $crate::__key_record!(
                $name, $name, 0,
                $crate::record::declaration::Texts::of_static(::core::module_path!(), &[$($given)?], ::core::file!()), $meta
            );
            $($($more)*)?
        }
        $($cfg)*
        #[allow(unused_imports)]
        $vis use $name::$name;
    };
    ($($declaration:tt)*) => {
        $crate::__static_key! { @sort [] [] [] [] $($declaration)* }
    };
}
