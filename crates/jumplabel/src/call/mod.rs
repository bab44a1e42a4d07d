//! Static calls: calls whose target is a choice at run time, at the price of a direct call.
//!
//! ```text
//!   static_call! { static HASH: fn(&[u8]) -> u64 = portable; }
//!
//!   HASH(data) ──call──► trampoline:  jmp portable      ◄── update(fast): jmp fast
//!                                     jmp *slot         for targets out of reach, and while the jump changes
//! ```
//!
//! ```
//! fn portable(data: &[u8]) -> u64 {
//!     data.iter().fold(0, |hash, byte| hash * 31 + u64::from(*byte))
//! }
//!
//! fn fast(data: &[u8]) -> u64 {
//!     data.len() as u64
//! }
//!
//! jumplabel::static_call! {
//!     /// The hash function of the index.
//!     pub static HASH: fn(&[u8]) -> u64 = portable;
//! }
//!
//! assert_eq!(HASH(b"ab"), 97 * 31 + 98);
//! HASH.update(fast)?;
//! assert_eq!(HASH(b"ab"), 2);
//! # Ok::<(), jumplabel::Error>(())
//! ```
//!
//! A static call carries code and no data: what a new target reads must have been published before the update, and what the old
//! one reads must stay until no thread is in it any more.

pub(crate) mod info;
#[cfg(not(jumplabel_trampolines))]
mod pointers;
pub(crate) mod raw;

use core::marker::PhantomData;
use core::ops::Deref;

use crate::error::Error;
use crate::format::CALL;
use crate::patch::{self, Lock, Outcome, Request};
use crate::record::declaration::Keys;
pub use raw::RawCall;

/// A static call of function pointers `T::Function`. Declare it with [`static_call!`](crate::static_call), and call it like a
/// function.
#[repr(transparent)]
pub struct StaticCall<T> {
    raw: RawCall,
    trampoline: PhantomData<fn() -> T>,
}

/// The trampoline of one call, as a type: what [`static_call!`](crate::static_call) makes for each.
///
/// # Safety
/// `Function` is a type of function pointers. `FUNCTION` is the trampoline, whose table entry names the one call with this type, and
/// which goes to the default at first. Where there are no trampolines, it is the default.
#[doc(hidden)]
pub unsafe trait Trampoline: 'static {
    type Function: Copy + 'static;
    const FUNCTION: &'static Self::Function;
    /// What `update` takes: a function, or, of a call that may lead nowhere, an `Option`.
    type Target: Copy;
    /// `None` for the default.
    fn function(target: Self::Target) -> Option<Self::Function>;
    fn target(function: Option<Self::Function>) -> Self::Target;
}

impl<T> Keys for StaticCall<T> {
    const COUNT: usize = 1;
    const STRIDE: usize = 0;
    const DEFAULT: bool = false;
    const WHAT: u32 = CALL;
}

impl<T: Trampoline> StaticCall<T> {
    /// A call that leads to its default, for [`static_call!`](crate::static_call): it belongs to the one static that `T` was made
    /// for.
    #[doc(hidden)]
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a call must be a static.
    pub const fn new() -> Self {
        StaticCall { raw: RawCall::new(), trampoline: PhantomData }
    }

    /// The call without its type.
    #[must_use]
    pub const fn raw(&'static self) -> &'static RawCall {
        &self.raw
    }

    /// Leads all calls to `target` from now on (Linux: `static_call_update`). Nothing to do if they lead there.
    ///
    /// When it returns, every call that starts later, on any thread, goes to `target` (see [`Visibility`](crate::Visibility) for
    /// the one exception, which is reported). While it runs, calls go to the one or the other. Threads may be in the old target
    /// for as long as that takes: what it uses must stay. Costs what the first flip of a key costs. Blocks while another thread flips. Safe
    /// in signal handlers, in the target itself, and before and after `fork`.
    ///
    /// # Errors
    /// [`Error::Sealed`], and everything that a transaction can meet. On any error, nothing has changed.
    pub fn update(&self, target: T::Target) -> Result<Outcome, Error> {
        patch::commit(&mut [self.request(target)?])
    }

    /// [`update`](Self::update) for a caller that holds the lock.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_locked(&self, target: T::Target, lock: &mut Lock) -> Result<Outcome, Error> {
        patch::commit_locked(&mut [self.request(target)?], lock)
    }

    /// Leads all calls to the default again: to the function that the declaration names, to nowhere, or to 0. Otherwise as
    /// [`update`](Self::update).
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn reset(&self) -> Result<Outcome, Error> {
        patch::commit(&mut [Request::new(&self.raw, 0)])
    }

    pub(crate) fn request(&self, target: T::Target) -> Result<Request<'_>, Error> {
        const { assert!(size_of::<T::Function>() == size_of::<usize>(), "a static call is of a function pointer") };
        let Some(function) = T::function(target) else { return Ok(Request::new(&self.raw, 0)) };
        // SAFETY: a function pointer, by the contract of `Trampoline`, and of the same size.
        let target = unsafe { core::mem::transmute_copy::<T::Function, *const ()>(&function) as usize };
        #[cfg(not(jumplabel_trampolines))]
        let target = pointers::word_of(target)?;
        Ok(Request::new(&self.raw, target))
    }

    /// Where the calls lead (Linux: `static_call_query`). Stale at once, unless the caller keeps others from updating.
    #[must_use]
    pub fn query(&self) -> T::Target {
        T::target(match self.raw.target() {
            0 => None,
            // SAFETY: the address of a function of that type, from `update`.
            #[cfg(jumplabel_trampolines)]
            target => Some(unsafe { core::mem::transmute_copy(&(target as *const ())) }),
            // SAFETY: the word that holds it.
            #[cfg(not(jumplabel_trampolines))]
            word => Some(unsafe { *(word as *const T::Function) }),
        })
    }

    /// Forbids all further updates. Idempotent.
    ///
    /// # Errors
    /// Where the lock cannot be taken, as for [`RawKey::seal`](crate::RawKey::seal).
    pub fn seal(&self) -> Result<(), Error> {
        let _lock = Lock::take()?;
        self.raw.set_sealed();
        Ok(())
    }
}

impl RawCall {
    /// [`StaticCall::update`] without the type.
    ///
    /// # Errors
    /// As [`StaticCall::update`].
    ///
    /// # Safety
    /// `target` is the address of a function of the call's type, or 0 for the default.
    pub unsafe fn update(&self, target: usize) -> Result<Outcome, Error> {
        patch::commit(&mut [Request::new(self, target)])
    }
}

/// The trampoline: so that a call is a call of the static.
impl<T: Trampoline> Deref for StaticCall<T> {
    type Target = T::Function;

    #[inline(always)] // A call must name the trampoline.
    fn deref(&self) -> &T::Function {
        #[cfg(not(jumplabel_trampolines))]
        if let word @ 1.. = self.raw.target() {
            // SAFETY: the word of a function of that type, from `update`, which stays as it is.
            return unsafe { &*(word as *const T::Function) };
        }
        T::FUNCTION
    }
}

impl<T> core::fmt::Debug for StaticCall<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.raw.fmt(f)
    }
}

/// What a call with the default `return 0` may return.
#[doc(hidden)]
pub trait Zero {
    const ZERO: Self;
}

macro_rules! zero {
    ($($type:ty = $zero:expr),*) => { $(impl Zero for $type { const ZERO: $type = $zero; })* };
}
zero! { u8 = 0, u16 = 0, u32 = 0, u64 = 0, u128 = 0, usize = 0, i8 = 0, i16 = 0, i32 = 0, i64 = 0, i128 = 0, isize = 0, bool = false }

impl<T> Zero for *const T {
    const ZERO: *const T = core::ptr::null();
}

impl<T> Zero for *mut T {
    const ZERO: *mut T = core::ptr::null_mut();
}

/// Declares static calls.
///
/// ```
/// fn plain(x: u64) -> u64 {
///     x + 1
/// }
///
/// jumplabel::static_call! {
///     /// What is called for each item.
///     pub static EACH: fn(u64) -> u64 = plain;
///     /// Called if it leads somewhere. Its arguments are evaluated all the same.
///     static TRACE: Option<fn(&str)> = None;
///     /// 0 as long as nobody says more.
///     static COUNT: unsafe extern "C" fn(*const u8, usize) -> usize = return 0;
/// }
///
/// assert_eq!(EACH(1), 2);
/// TRACE("nothing");
/// assert_eq!(unsafe { COUNT(std::ptr::null(), 9) }, 0);
///
/// TRACE.update(Some(|text| assert_eq!(text, "something")))?;
/// TRACE("something");
/// TRACE.update(None)?;
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// The type is any of function pointers that names no type parameter. The default is a path to a function of it.
#[macro_export]
macro_rules! static_call {
    () => {};
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<unsafe fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [unsafe] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: unsafe fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [unsafe] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<extern $abi:literal fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [extern $abi] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: extern $abi:literal fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [extern $abi] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<unsafe extern $abi:literal fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [unsafe extern $abi] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: unsafe extern $abi:literal fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [unsafe extern $abi] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $function:ty = $default:expr; $($rest:tt)*) => {
        $crate::__static_call! { [$(#[$($attr)*])* $vis] $name: $function = $default, $function,
            (|target| Some(target)) (|function| function.unwrap_or($default)) {} }
        $crate::static_call! { $($rest)* }
    };
}

/// A call that leads nowhere at first.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_optional {
    ($head:tt $name:ident [$($of:tt)*] ($($argument:ty),*)) => {
        $crate::__static_call! { $head $name: $($of)* fn($($argument),*) = __nowhere, Option<$($of)* fn($($argument),*)>,
            (|target| target) (|function| function) { $($of)* fn __nowhere($(_: $argument),*) {} } }
    };
}

/// A call that returns 0 at first.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_zero {
    ($head:tt $name:ident [$($of:tt)*] ($($argument:ty),*) $result:ty) => {
        $crate::__static_call! { $head $name: $($of)* fn($($argument),*) -> $result = __zero, $($of)* fn($($argument),*) -> $result,
            (|target| Some(target)) (|function| function.unwrap_or(__zero))
            { $($of)* fn __zero($(_: $argument),*) -> $result { <$result as $crate::call::Zero>::ZERO } } }
    };
}

/// The static, and the type that stands for its trampoline.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call {
    ([$($head:tt)*] $name:ident: $function:ty = $default:expr, $target:ty, ($($from:tt)*) ($($to:tt)*) { $($item:tt)* }) => {
        // In the namespace of types; the static is in that of values.
        $crate::__static_call_head! { [] [$($head)*] $name }
        const _: () = {
            $($item)*
            $crate::__declaration!($name, 0, $crate::record::declaration::Texts::of_path(
                [module_path!(), "::", stringify!($name)], module_path!().len(), file!()));
            $crate::__static_call_function!(__FUNCTION, $name, $function, $default);
            #[allow(clippy::undocumented_unsafe_blocks)]
            // SAFETY: made for this call.
            unsafe impl $crate::call::Trampoline for $name {
                type Function = $function;
                const FUNCTION: &'static $function = __FUNCTION;
                type Target = $target;
                fn function(target: $target) -> Option<$function> {
                    let from: fn($target) -> Option<$function> = $($from)*;
                    from(target)
                }
                fn target(function: Option<$function>) -> $target {
                    let to: fn(Option<$function>) -> $target = $($to)*;
                    to(function)
                }
            }
        };
    };
}

/// Takes the attributes, which are the static's, from the visibility, which is the type's, too.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_head {
    ([$($attr:tt)*] [#[$($one:tt)*] $($rest:tt)*] $name:ident) => {
        $crate::__static_call_head! { [$($attr)* #[$($one)*]] [$($rest)*] $name }
    };
    ([$($attr:tt)*] [$vis:vis] $name:ident) => {
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        $vis enum $name {}
        $($attr)*
        $vis static $name: $crate::StaticCall<$name> = $crate::StaticCall::new();
    };
}

/// The trampoline, which has no signature of its own.
#[cfg(jumplabel_trampolines)]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_function {
    ($constant:ident, $name:ident, $function:ty, $default:expr) => {
        $crate::__trampoline_asm!(__trampoline, $name, $default);
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: it goes to functions of this type.
        const $constant: &$function =
            &unsafe { ::core::mem::transmute::<unsafe extern "C-unwind" fn(), $function>(__trampoline) };
    };
}

/// Without sites, a node of the list of records.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_node {
    ($name:ident) => {
        $crate::__constructor!($crate::record::Node::new(&$name, &__JUMPLABEL_DECLARATION, &[]));
    };
}

/// With sites of keys and without trampolines, nothing: there is no function whose assembler could have the record.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_node {
    ($name:ident) => {
        const _: &$crate::format::Declaration<{ __JUMPLABEL_TEXTS.len() }> = &__JUMPLABEL_DECLARATION;
    };
}

/// Without trampolines: the default.
#[cfg(not(jumplabel_trampolines))]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_function {
    ($constant:ident, $name:ident, $function:ty, $default:expr) => {
        $crate::__static_call_node!($name);
        const $constant: &$function = &{
            let function: $function = $default;
            function
        };
    };
}
