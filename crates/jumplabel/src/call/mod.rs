//! Static calls: calls whose target is chosen at run time, for the price of a direct call and a jump.
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
//! An update changes code and no data. If the new target reads data that the old one did not need, publish the data before the update. If only the
//! old target reads some data, keep them until no thread is in the old target.

mod declare;
pub(crate) mod info;
#[cfg(not(jumplabel_trampolines))]
mod pointers;

use core::marker::PhantomData;
use core::ops::Deref;

use crate::error::Error;
use crate::format::CALL;
use crate::key_record::declaration::Keys;
use crate::patch::{self, Lock, Outcome, Request, Settable};
pub use crate::raw::call::RawCall;
pub use declare::Zero;

/// A static call whose targets have the type `T::Function`, a type of function pointers. Declare it with
/// [`static_call!`](crate::static_call), and call it like a function.
#[repr(transparent)]
pub struct StaticCall<T> {
    raw: RawCall,
    trampoline: PhantomData<fn() -> T>,
}

/// A type that stands for the trampoline of one static call. [`static_call!`](crate::static_call) makes this type.
///
/// # Safety
/// `Function` is a type of function pointers. `FUNCTION` is the trampoline, and at first leads to the default. Its table entry names the only call
/// that has this type. In a build without trampolines, `FUNCTION` is the default.
#[doc(hidden)]
pub unsafe trait Trampoline: 'static {
    type Function: Copy + 'static;
    const FUNCTION: &'static Self::Function;
    /// The type of the argument of `update`: `Function`, or `Option<Function>` for a call that can lead nowhere.
    type Target: Copy;
    /// Returns the function that `target` names. `None` stands for the default.
    fn function(target: Self::Target) -> Option<Self::Function>;
    fn target(function: Option<Self::Function>) -> Self::Target;
}

impl<T> Keys for StaticCall<T> {
    const COUNT: usize = 1;
    const STRIDE: usize = 0;
    const DEFAULT: bool = false;
    const WHAT: u32 = CALL;
}

impl<T: Trampoline> Settable for StaticCall<T> {
    type Value = T::Target;
    #[inline]
    fn request(&self, target: T::Target) -> Result<Request<'_>, Error> {
        // With trampolines, the compiler sees that this never fails. So it makes no error branch in the functions that build a batch; such a branch
        // would copy the batch.
        #[cfg(jumplabel_trampolines)]
        return Ok(Request::new(&self.raw, Self::leads_to(target)));
        #[cfg(not(jumplabel_trampolines))]
        self.raw.request(Self::leads_to(target))
    }
}

impl<T: Trampoline> StaticCall<T> {
    /// Makes the call of the static for which [`static_call!`](crate::static_call) made the type `T`. The call leads to its default.
    #[doc(hidden)]
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a call must be a static.
    pub const fn new() -> Self {
        StaticCall { raw: RawCall::new(), trampoline: PhantomData }
    }

    /// Returns the call without its type.
    #[must_use]
    pub const fn raw(&'static self) -> &'static RawCall {
        &self.raw
    }

    /// Leads all calls to `target` from now on (Linux: `static_call_update`). If they lead to `target` already, `update` only looks at the trampoline
    /// and at the calls that `jumplabel link` has led straight to their target. It repairs each of them that leads elsewhere, and fails if it finds
    /// foreign bytes. If `target` is the function that the declaration names, `update` sets the default, as [`reset`](Self::reset) does.
    ///
    /// `target` can be the function of another static call, `*OTHER`: then the calls follow `OTHER`. Do not lead several calls to each other in a
    /// ring, because a thread would then run round the ring for ever. The library refuses only a call that leads directly to itself, in builds with
    /// sites.
    ///
    /// When `update` returns, every call that starts later, on any thread, goes to `target`. (If the system refuses core sync, this holds only a
    /// little later; the outcome then says [`Visibility::Eventual`](crate::Visibility::Eventual).) While `update` runs, calls go to the old target or
    /// to the new one. A thread can stay in the old target for any time after that, so keep everything that the old target uses. Costs as much as the
    /// first flip of a key. Blocks while another thread flips. Safe in signal handlers, in the target itself, and before and after `fork`.
    ///
    /// # Errors
    /// [`Error::Sealed`], and every error of a transaction. On any error except [`Error::RollbackFailed`], nothing has changed.
    pub fn update(&self, target: T::Target) -> Result<Outcome, Error> {
        patch::commit(&[self.request(target)?])
    }

    /// [`update`](Self::update) for a caller that holds the lock.
    ///
    /// # Errors
    /// The errors of [`update`](Self::update).
    pub fn update_locked(&self, target: T::Target, lock: &mut Lock) -> Result<Outcome, Error> {
        patch::commit_locked(&[self.request(target)?], lock)
    }

    /// Leads all calls to the default again. The default is the function that the declaration names, a function that does nothing (`None`), or one
    /// that returns 0 (`return 0`). Otherwise like [`update`](Self::update).
    ///
    /// # Errors
    /// The errors of [`update`](Self::update).
    pub fn reset(&self) -> Result<Outcome, Error> {
        patch::commit(&[Request::new(&self.raw, 0)])
    }

    /// Returns the number that stands for `target` in a request: the address of the function, or 0 for the default. The result is also 0 if `target`
    /// is the default function itself.
    pub(crate) fn leads_to(target: T::Target) -> usize {
        let target = Self::address(target);
        if target == Self::address(T::target(None)) { 0 } else { target }
    }

    /// Returns the address of the function that `target` names. Returns 0 if `target` is `None`.
    fn address(target: T::Target) -> usize {
        const { assert!(size_of::<T::Function>() == size_of::<usize>(), "a static call is of a function pointer") };
        // SAFETY: `T::Function` is a type of function pointers (`Trampoline` demands that). The assertion shows that it has the size of a pointer.
        T::function(target)
            .map_or(0, |function| unsafe { core::mem::transmute_copy::<T::Function, *const ()>(&function) } as usize)
    }

    /// Returns the target to which the calls lead now (Linux: `static_call_query`). Another thread can update the call as soon as this returns,
    /// unless the caller prevents that.
    #[must_use]
    pub fn query(&self) -> T::Target {
        T::target(match self.raw.target() {
            0 => None,
            // SAFETY: only updates store a target, which is the address of a function of this type: `update` and batches take only such functions,
            // and the caller of `RawCall::update` promises to pass one.
            #[cfg(jumplabel_trampolines)]
            target => Some(unsafe { core::mem::transmute_copy(&(target as *const ())) }),
            // SAFETY: `word` is the address of a word of `pointers`. The word holds a function of this type, which `update` got, and it never
            // changes.
            #[cfg(not(jumplabel_trampolines))]
            word => Some(unsafe { *(word as *const T::Function) }),
        })
    }

    /// Forbids all further updates. Idempotent.
    ///
    /// # Errors
    /// If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal).
    pub fn seal(&self) -> Result<(), Error> {
        let _lock = Lock::take()?;
        self.raw.set_sealed();
        Ok(())
    }
}

impl RawCall {
    /// [`StaticCall::update`] by an address, for a call whose type is not known.
    ///
    /// # Errors
    /// The errors of [`StaticCall::update`].
    ///
    /// # Safety
    /// `target` is the address of a function of the call's type, or 0 for the default.
    pub unsafe fn update(&self, target: usize) -> Result<Outcome, Error> {
        patch::commit(&[self.request(target)?])
    }

    /// Makes the request to lead the call to the function at `address`, or to the call's default if `address` is 0.
    pub(crate) fn request(&self, address: usize) -> Result<Request<'_>, Error> {
        if address == crate::raw::call::UNLOADED {
            return Err(Error::NotCode { address });
        }
        #[cfg(not(jumplabel_trampolines))]
        if address != 0 && !self.is_of_c() {
            return Ok(Request::new(self, pointers::word_of(address)?));
        }
        Ok(Request::new(self, address))
    }
}

/// Dereferences to the trampoline, so that the static can be called like a function. In a build without trampolines, dereferences to a word that
/// holds the address of the present target.
impl<T: Trampoline> Deref for StaticCall<T> {
    type Target = T::Function;

    #[inline(always)] // The code that calls must name the trampoline.
    fn deref(&self) -> &T::Function {
        #[cfg(not(jumplabel_trampolines))]
        if let word @ 1.. = self.raw.target() {
            // SAFETY: `word` is the address of a word of `pointers`. The word holds a function of this type, which `update` got, and it never
            // changes.
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
