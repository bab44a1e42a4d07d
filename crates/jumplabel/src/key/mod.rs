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
//! A key's default is part of its type, so that the check's first instruction is known where it is compiled.

pub mod count;
#[cfg(feature = "std")]
pub mod deferred;
pub mod naked;

/// The atomics under the counter: here the real ones; the model check puts its own in their place.
mod atomic {
    pub(super) use core::sync::atomic::{AtomicI32, Ordering};
}

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::error::Error;
use crate::patch::{self, Outcome};
use count::{Change, Misuse};

/// A key without its type: what tables and batches refer to. `struct static_key` in C.
#[repr(C, align(8))]
pub struct RawKey {
    word: AtomicI32,
    flags: AtomicU32,
}

impl RawKey {
    const DEFAULT_TRUE: u32 = 1 << 0;
    /// One of the users that are counted has left by `dec_deferred`. In the key, so that every copy of the library knows.
    const DUE: u32 = 1 << 1;
    /// Its sites were changed without a core sync, and none is known to have succeeded since.
    const EVENTUAL: u32 = 1 << 2;

    pub(crate) const fn new(default: bool) -> RawKey {
        let flags = if default { Self::DEFAULT_TRUE } else { 0 };
        RawKey { word: AtomicI32::new(default as i32), flags: AtomicU32::new(flags) }
    }

    fn flag(&self, flag: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    /// Under the lock. Writes only what changes: a key may lie in read-only memory.
    fn set_flag(&self, flag: u32, on: bool) {
        let flags = self.flags.load(Ordering::Relaxed);
        if (flags & flag != 0) != on {
            self.flags.store(flags ^ flag, Ordering::Relaxed);
        }
    }

    /// Under the lock: whether a deferred dec is due.
    pub(crate) fn is_due(&self) -> bool {
        self.flag(Self::DUE)
    }

    /// Under the lock.
    pub(crate) fn set_due(&self, due: bool) {
        self.set_flag(Self::DUE, due);
    }

    /// Whether other threads may still execute what the sites were before the last flip.
    pub(crate) fn is_eventual(&self) -> bool {
        self.flag(Self::EVENTUAL)
    }

    /// Under the lock, and before the count is published: who comes by a lock-free `inc` has to see it.
    pub(crate) fn set_eventual(&self, eventual: bool) {
        self.set_flag(Self::EVENTUAL, eventual);
    }

    /// Under the lock: counts off the user that has left by `dec_deferred`. Where that is refused, it is still due.
    pub(crate) fn carry_out(&self, lock: &patch::Lock) -> Result<Option<Outcome>, Error> {
        if !self.is_due() {
            return Ok(None);
        }
        let outcome = patch::change_locked(self, Change::Dec, lock)?;
        self.set_due(false);
        Ok(Some(outcome))
    }

    pub(crate) fn word(&self) -> &AtomicI32 {
        &self.word
    }

    /// Address of the key: what table entries point to.
    #[must_use]
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// The key's default.
    #[must_use]
    pub fn default_state(&self) -> bool {
        self.flag(Self::DEFAULT_TRUE)
    }

    /// Whether the key is on (Linux: `static_key_enabled`). One load, no barrier; safe anywhere. Becomes true after all
    /// sites are on, and false after all sites are off. The answer may be stale at once, unless the caller keeps others from
    /// flipping the key.
    #[must_use]
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.word.load(Ordering::Relaxed) & i32::MAX != 0
    }

    /// The number of users (Linux: `static_key_count`). One load; safe anywhere. Stale at once, like [`Self::is_enabled`].
    #[must_use]
    #[inline]
    pub fn count(&self) -> i32 {
        count::users(self.word.load(Ordering::Relaxed))
    }

    /// Turns the key on (Linux: `static_key_enable`). Nothing to do where its count is 1.
    ///
    /// When it returns, every check that starts later, on any thread, takes the new arm (see
    /// [`Visibility`](crate::Visibility) for the one exception, which is reported). Costs a few system calls and one
    /// interrupt of the other processors; see docs/how-it-works.md for figures. Blocks while another thread flips.
    /// Safe in signal handlers, constructors, and before and after `fork`.
    ///
    /// # Errors
    /// [`Error::Counted`] with two users or more, [`Error::Sealed`], and everything that [`patch`] can meet. On any
    /// error, nothing has changed.
    pub fn enable(&self) -> Result<Outcome, Error> {
        patch::change(self, Change::Enable)
    }

    /// Turns the key off (Linux: `static_key_disable`). Nothing to do where its count is 0. Otherwise as
    /// [`enable`](Self::enable).
    ///
    /// # Errors
    /// As [`enable`](Self::enable).
    pub fn disable(&self) -> Result<Outcome, Error> {
        patch::change(self, Change::Disable)
    }

    /// Turns the key on or off. Not public: who looks for a `get` would be shown it by the compiler.
    #[cfg(feature = "std")]
    pub(crate) fn set(&self, on: bool) -> Result<Outcome, Error> {
        patch::change(self, Change::to(on))
    }

    /// One user more (Linux: `static_key_slow_inc`). The first turns the key on; for the others this is one
    /// compare-and-swap. When it returns, the key is on, and stays so until the matching [`dec`](Self::dec). Where the key went on
    /// without a core sync, that is reported to the others too, until one has succeeded.
    ///
    /// # Errors
    /// [`Error::Overflow`] at `i32::MAX` users, otherwise as [`enable`](Self::enable).
    pub fn inc(&self) -> Result<Outcome, Error> {
        patch::change(self, Change::Inc)
    }

    /// One user less (Linux: `static_key_slow_dec`). The last turns the key off.
    ///
    /// # Errors
    /// [`Error::Underflow`] where the key is off, otherwise as [`enable`](Self::enable).
    pub fn dec(&self) -> Result<Outcome, Error> {
        patch::change(self, Change::Dec)
    }

    /// [`enable`](Self::enable) for a caller that holds the lock (Linux: `static_key_enable_cpuslocked`).
    ///
    /// # Errors
    /// As [`enable`](Self::enable).
    pub fn enable_locked(&self, lock: &patch::Lock) -> Result<Outcome, Error> {
        patch::change_locked(self, Change::Enable, lock)
    }

    /// [`disable`](Self::disable) for a caller that holds the lock (Linux: `static_key_disable_cpuslocked`).
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub fn disable_locked(&self, lock: &patch::Lock) -> Result<Outcome, Error> {
        patch::change_locked(self, Change::Disable, lock)
    }

    /// [`inc`](Self::inc) for a caller that holds the lock (Linux: `static_key_slow_inc_cpuslocked`).
    ///
    /// # Errors
    /// As [`inc`](Self::inc).
    pub fn inc_locked(&self, lock: &patch::Lock) -> Result<Outcome, Error> {
        patch::change_locked(self, Change::Inc, lock)
    }

    /// [`dec`](Self::dec) for a caller that holds the lock (Linux: `static_key_slow_dec_cpuslocked`).
    ///
    /// # Errors
    /// As [`dec`](Self::dec).
    pub fn dec_locked(&self, lock: &patch::Lock) -> Result<Outcome, Error> {
        patch::change_locked(self, Change::Dec, lock)
    }

    /// One user more of a key that is on already (Linux: `static_key_fast_inc_not_disabled`): false where it is off, going off,
    /// sealed or full. Never patches, never blocks, and does not tell [`Visibility`](crate::Visibility), as
    /// [`inc`](Self::inc) does.
    #[must_use]
    pub fn fast_inc_not_disabled(&self) -> bool {
        count::fast(&self.word, Change::Inc).is_some()
    }

    /// Forbids all further changes (Linux: a key in `__ro_after_init`). Idempotent. `enable` and `disable` of what is
    /// so already still succeed. A deferred dec that is due is carried out first, because none could be later.
    ///
    /// # Errors
    /// [`Error::Overflow`] with `i32::MAX` users, and where the lock cannot be taken: [`Error::Reentrant`] in the middle of
    /// a flip, [`Error::OutOfMemory`], and [`Error::NoText`] in a kernel that has not called
    /// [`set_text`](crate::text::set_text). Where a deferred dec is due, also as [`dec`](Self::dec); it is then still due,
    /// and the key is not sealed.
    pub fn seal(&self) -> Result<(), Error> {
        let lock = patch::Lock::take()?;
        self.carry_out(&lock)?;
        count::seal(&self.word).map_err(Error::from)
    }

    /// Whether the key was sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        count::sealed(&self.word)
    }
}

impl core::fmt::Debug for RawKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sealed = if self.is_sealed() { ", sealed" } else { "" };
        write!(f, "StaticKey(count {}, default {}{sealed})", self.count(), self.default_state())
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Error {
        match misuse {
            Misuse::Overflow => Error::Overflow,
            Misuse::Underflow => Error::Underflow,
            Misuse::Counted(count) => Error::Counted { count },
            Misuse::Sealed => Error::Sealed,
        }
    }
}

/// A static key with its default. Declare it with [`static_key!`](crate::static_key), or as a field of a static.
/// Dereferences to [`RawKey`], which has the methods.
#[repr(transparent)]
pub struct StaticKey<const DEFAULT: bool> {
    raw: RawKey,
}

impl<const DEFAULT: bool> core::fmt::Debug for StaticKey<DEFAULT> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.raw.fmt(f)
    }
}

/// A key that starts on (Linux: `struct static_key_true`).
pub type StaticKeyTrue = StaticKey<true>;
/// A key that starts off (Linux: `struct static_key_false`).
pub type StaticKeyFalse = StaticKey<false>;

impl<const DEFAULT: bool> StaticKey<DEFAULT> {
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

impl<const DEFAULT: bool> core::ops::Deref for StaticKey<DEFAULT> {
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
            array of keys with a constant index, or a field of type StaticKey in a static"
)]
pub unsafe trait Key {
    /// The state that the key starts in.
    const DEFAULT: bool;
}

// SAFETY: transparent over a RawKey made with DEFAULT.
unsafe impl<const DEFAULT: bool> Key for StaticKey<DEFAULT> {
    const DEFAULT: bool = DEFAULT;
}

/// One key, or an array of keys, as `static_key!` records it.
#[doc(hidden)]
pub trait Keys {
    const COUNT: usize;
    const STRIDE: usize;
    const DEFAULT: bool;
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

/// `text` as an array, so that a record can point to its bytes without a relocation.
#[doc(hidden)]
#[must_use]
pub const fn bytes_of<const LEN: usize>(text: &str) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes.copy_from_slice(text.as_bytes());
    bytes
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
/// }
/// ```
///
/// May stand in a function, too; names in the default, the count and the interval are then looked up in the module around
/// it.
///
/// Costs 8 bytes of data a key and 32 bytes of read-only record a declaration, no relocation, no start-up work.
#[macro_export]
macro_rules! static_key {
    () => {};
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$default:expr; $count:expr]; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $vis $name: [$crate::StaticKey<{ $default }>; $count] = [const { $crate::StaticKey::new() }; $count]
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, deferred; $($rest:tt)*) => {
        compile_error!(concat!("a deferred key has an interval: `static ", stringify!($name), ": ", stringify!($default),
            ", deferred Duration::from_secs(1);`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr) => {
        compile_error!(concat!("a declaration ends with `;`: `static ", stringify!($name), ": ", stringify!($default), ";`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, deferred $interval:expr; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $vis $name: $crate::DeferredKey<{ $default }> = $crate::DeferredKey::new($interval)
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $vis $name: $crate::StaticKey<{ $default }> = $crate::StaticKey::new()
        }
        $crate::static_key! { $($rest)* }
    };
}

/// One declaration: the static, its record, and what else it needs, in a module of the same name, because `global_asm!` must
/// stand in a module and keys may be declared in functions. `#[cfg]` is for all of it, other attributes are for the static.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_key {
    (@sort [$($cfg:tt)*] [$($attr:tt)*] #[thread_local] $($rest:tt)*) => {
        compile_error!("a key is one for all threads, which share the code that its sites are in: it cannot be `#[thread_local]`");
    };
    (@sort [$($cfg:tt)*] [$($attr:tt)*] #[cfg $condition:tt] $($rest:tt)*) => {
        $crate::__static_key! { @sort [$($cfg)* #[cfg $condition]] [$($attr)*] $($rest)* }
    };
    (@sort [$($cfg:tt)*] [$($attr:tt)*] #[$other:meta] $($rest:tt)*) => {
        $crate::__static_key! { @sort [$($cfg)*] [$($attr)* #[$other]] $($rest)* }
    };
    (@sort [$($cfg:tt)*] [$($attr:tt)*] $vis:vis $name:ident: $type:ty = $value:expr $(; $($more:tt)*)?) => {
        $($cfg)*
        #[allow(non_snake_case)]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $($attr)*
            pub static $name: $type = $value;
            $crate::__key_record!($name, $type);
            $($($more)*)?
        }
        $($cfg)*
        #[allow(unused_imports)]
        $vis use $name::$name;
    };
    ($($declaration:tt)*) => {
        $crate::__static_key! { @sort [] [] $($declaration)* }
    };
}

/// The record of a key in `__jump_keys`; see `site::record`. Its path is that of the module around it.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record {
    ($name:ident, $type:ty) => {
        static __JUMPLABEL_PATH: [u8; module_path!().len()] = $crate::key::bytes_of(module_path!());
        static __JUMPLABEL_FILE: [u8; file!().len()] = $crate::key::bytes_of(file!());
        ::core::arch::global_asm!(
            ".pushsection __jump_keys, \"aR\", %progbits",
            ".balign 4",
            $crate::__once_asm!(),
            $crate::__key_word_asm!(),
            ".long {name} - .",
            ".long {file} - .",
            ".long {name_len}, {file_len}, {line}, {count}, {shape}",
            ".popsection",
            key = sym $name,
            name = sym __JUMPLABEL_PATH,
            file = sym __JUMPLABEL_FILE,
            name_len = const module_path!().len(),
            file_len = const file!().len(),
            line = const line!(),
            count = const <$type as $crate::key::Keys>::COUNT,
            shape = const $crate::site::shape(
                <$type as $crate::key::Keys>::DEFAULT,
                <$type as $crate::key::Keys>::STRIDE,
            ),
        );
    };
}

/// No records without sites.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record {
    ($($ignored:tt)*) => {};
}
