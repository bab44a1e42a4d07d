//! Naked keys: each key has a small function (two instructions on x86). Each check calls that function, and a flip changes the function.
//!
//! ```text
//!   naked_key! { static K: false; }          K.get()          K.get()          K.get()        any number of checks
//!                                                \               |               /
//!                                                 call        call           call
//!                                                     \          |          /
//!                                                      mov eax, 0  ◄── enable(): one byte, 0 -> 1     (x86)
//!                                                      ret
//! ```
//!
//! A naked key is an ordinary key, with a record and a table entry. Its only site is in its function. So all functions that change keys or list sites
//! work with naked keys, too, and a batch can contain naked keys and other keys.
//!
//! ```
//! jumplabel::naked_key! {
//!     /// Take the new route.
//!     pub static NEW_ROUTE: false;
//! }
//!
//! fn route(x: u64) -> u64 {
//!     if NEW_ROUTE.get() { x + 1 } else { x }
//! }
//!
//! assert_eq!(route(1), 1);
//! let outcome = NEW_ROUTE.enable()?; // changes one byte, however many checks there are
//! assert_eq!(route(1), 2);
//! assert!(outcome.sites <= 1);
//! # Ok::<(), jumplabel::Error>(())
//! ```
//!
//! | | key of `static_key!` | key of `naked_key!` |
//! |---|---|---|
//! | a check | one instruction that falls through or jumps | a call, the function's two instructions, a test and a branch |
//! | besides its code, a check costs | 16 bytes of table | nothing; the key has 16 bytes of table and a few of code |
//! | a flip costs | more with the number of sites | the same for one check and for 10,000 |
//! | while a flip is going on | some sites are new and others old | once a thread has found a check new, it finds no check old |
//! | a function that checks, and otherwise calls nothing | stays a leaf function | aligns its stack (x86), saves the link register (aarch64) |
//! | keys | single, in arrays, in fields | single |
//!
//! Use `static_key!` if checks must cost next to nothing. Use `naked_key!` in any of these cases:
//! * All checks must change together.
//! * The number of checks is so large that their table and their flips cost too much.
//! * The state must not lie in data: a stray store can change data, and data may be missing from the cache.
//!
//! If none of these matters, use an atomic, which costs less than a naked key: docs/benchmarks.md has figures.

use core::marker::PhantomData;
use core::ops::Deref;

use super::RawKey;
use crate::error::Error;
use crate::key_record::declaration::Keys;
use crate::patch::{Request, Settable};

/// A naked key. Declare it with [`naked_key!`](crate::naked_key). Dereferences to [`RawKey`], which has the methods that flip the key.
#[repr(transparent)]
pub struct NakedKey<F> {
    raw: RawKey,
    function: PhantomData<fn() -> F>,
}

impl<F: Function> NakedKey<F> {
    /// Makes the key of the static for which [`naked_key!`](crate::naked_key) made the type `F`. The key is in its default state.
    #[doc(hidden)]
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a key must be a static.
    pub const fn new() -> Self {
        NakedKey { raw: RawKey::new(F::DEFAULT), function: PhantomData }
    }

    /// Returns the key without its type, so that keys of different types fit into one list. Works in constants, too.
    #[must_use]
    pub const fn raw(&'static self) -> &'static RawKey {
        &self.raw
    }

    /// Checks the key: returns whether it is on.
    ///
    /// Costs a call of the key's function, and no load. The call writes the register of the result, and the registers that every call
    /// instruction writes, but no flags. Safe anywhere, signal handlers included. The compiler merges no checks, not even two in a row.
    ///
    /// All checks change at one instant. If a check on this thread has yielded the new state of a flip, no later check on this thread yields the
    /// old state. When the flip has returned, no check on any thread yields the old state. (See [`Visibility`](crate::Visibility) for the one
    /// exception.) During the flip, two threads can see different states.
    ///
    /// [`is_enabled`](RawKey::is_enabled) loads the count instead. During a flip, the checks change first, and the count changes afterwards.
    #[must_use]
    #[inline(always)] // A call of `get` itself would double the cost.
    pub fn get(&self) -> bool {
        #[cfg(jumplabel_sites)]
        return F::call();
        #[cfg(not(jumplabel_sites))]
        return self.raw.is_enabled();
    }
}

impl<F> Deref for NakedKey<F> {
    type Target = RawKey;
    fn deref(&self) -> &RawKey {
        &self.raw
    }
}

impl<F> core::fmt::Debug for NakedKey<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.raw.fmt(f)
    }
}

impl<F> Settable for NakedKey<F> {
    type Value = bool;
    fn request(&self, on: bool) -> Result<Request<'_>, Error> {
        self.raw.request(on)
    }
}

/// A type that stands for the function of one naked key. [`naked_key!`](crate::naked_key) makes this type.
///
/// # Safety
/// Only one key has this type, and it was made with `DEFAULT`. `call` calls the key's function: the function whose table entry names that key.
#[doc(hidden)]
pub unsafe trait Function {
    const DEFAULT: bool;
    #[cfg(jumplabel_sites)]
    fn call() -> bool;
}

impl<F: Function> Keys for NakedKey<F> {
    const COUNT: usize = 1;
    const STRIDE: usize = 0;
    const DEFAULT: bool = F::DEFAULT;
}

/// Declares naked keys. Check such a key with [`get`](NakedKey::get).
///
/// ```
/// jumplabel::naked_key! {
///     /// A key that starts off.
///     pub static ROUTE: false;
///     /// One that starts on.
///     static VERIFY: true;
///     /// The default is any constant.
///     static CHECKS: cfg!(debug_assertions);
/// }
/// assert_eq!([ROUTE.get(), VERIFY.get(), CHECKS.get()], [false, true, cfg!(debug_assertions)]);
/// ```
///
/// The macro can stand in a function, too. Paths in the default are then looked up in the module that contains the function. There are no arrays of
/// naked keys, because each naked key has a function of its own.
///
/// Each key costs 8 bytes of data, 8 of code (24 on aarch64) with some 40 of unwind information, 16 of read-only table and 40 of read-only record
/// with its texts. A key needs no relocation and no start-up work. A check costs only its code.
#[macro_export]
macro_rules! naked_key {
    () => {};
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$($array:tt)*]; $($rest:tt)*) => {
        compile_error!("there are no arrays of naked keys: each has a function of its own; declare them one by one");
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, or_load $($rest:tt)*) => {
        compile_error!("a naked key cannot load: an atomic costs less than a call of a function that loads; use `static_key!` or an atomic");
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, deferred $($rest:tt)*) => {
        compile_error!("a naked key has no deferred `dec`: its flips cost the same for any number of checks");
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr) => {
        compile_error!(::core::concat!("a declaration ends with `;`: `static ", ::core::stringify!($name), ": ", ::core::stringify!($default), ";`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::NakedKey<__type::$name> = $crate::NakedKey::new();
            // The type is in a module of its own, so that it can have the same name as the key. Compiler messages and the documentation of the user's
            // crate then show the key's name.
            #[allow(non_camel_case_types)]
            pub mod __type {
                pub enum $name {}
            }
            $crate::__naked_function!($name, $default);
        }
        $crate::naked_key! { $($rest)* }
    };
}

/// Makes the function of a naked key. Implements `Function`, so that the key's check calls this function.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_function {
    ($key:ident, $default:expr) => {
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: `call` calls `__function`, whose table entry names `$key`. `naked_key!` makes this type for `$key` only, with this default.
        unsafe impl $crate::key::naked::Function for __type::$key {
            const DEFAULT: bool = $default;
            #[inline(always)]
            fn call() -> bool {
                $crate::__naked_call!(__function)
            }
        }
        $crate::__naked_function_asm!(__function, $key, <__type::$key as $crate::key::naked::Function>::DEFAULT);
    };
}

/// Makes no function, in builds without sites: there, `get` loads the count.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_function {
    ($key:ident, $default:expr) => {
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: only the key `$key` has this type, and `NakedKey::new` makes it with `DEFAULT`. Builds without sites have no `call`.
        unsafe impl $crate::key::naked::Function for __type::$key {
            const DEFAULT: bool = $default;
        }
    };
}
