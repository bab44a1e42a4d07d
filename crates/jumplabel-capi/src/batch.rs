//! Transactions from C: the caller passes an array of changes.

use core::ffi::{c_int, c_uchar, c_void};

use jumplabel::{Outcome, RawCall, RawChange, RawKey, RawMode};

use crate::call::{Function, address, target};
use crate::result::{Key, Refusal, code, key};
use crate::system::is_mapped;

/// C's `struct jumplabel_change`: a key, and whether it shall be on.
#[repr(C)]
pub struct Change {
    key: Key,
    /// C's `bool`. It is not `bool` here, because C could store another value than 0 and 1.
    enable: c_uchar,
}

impl Change {
    /// The key to change.
    ///
    /// # Safety
    /// `self.key` meets the conditions of [`key`].
    unsafe fn key(&self) -> Result<&RawKey, Refusal> {
        // SAFETY: the caller guarantees that `self.key` is a key that lives, or an address that `key` refuses.
        unsafe { key(self.key) }
    }
}

/// The array of `count` values that begins at `first`. Refuses an address that is null or misaligned, and a count that no array can have.
///
/// # Safety
/// `first` is null, misaligned, or the address of the first of `count` values, which stay unchanged as long as the result is used.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: usize) -> Result<&'a [T], Refusal> {
    if first.is_null() || !first.is_aligned() || count > isize::MAX as usize / size_of::<T>() {
        return Err(Refusal::NotAKey);
    }
    // SAFETY: `first` is not null and is aligned. So the caller guarantees that `count` values lie there and stay unchanged.
    Ok(unsafe { core::slice::from_raw_parts(first, count) })
}

/// Carries out all changes of the array or none. Checks all keys before the first one changes. Returns 0 or an error.
///
/// # Safety
/// `changes` is null, or the address of `count` changes, to which nobody writes during the call. Each change's key meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_set_all(changes: *const Change, count: usize) -> c_int {
    let set_all = || {
        if count == 0 {
            return Ok(Outcome::default());
        }
        // SAFETY: the caller guarantees that `changes` is null or the address of `count` changes, to which nobody writes during this call.
        let changes = unsafe { slice(changes, count) }?;
        // SAFETY: `commit_all` has conditions only for static calls, and all changes here are of keys. The caller guarantees that each key lives, or
        // that `key` refuses its address.
        unsafe {
            jumplabel::commit_all(changes.iter().map(|change| Ok(RawChange::Key(change.key()?, change.enable != 0))))
        }
    };
    code(set_all())
}

/// C's `struct jumplabel_request`: a key, a static call or a mode, and its new setting.
#[repr(C)]
pub struct Request {
    /// What is at `patchable`: 0 is a key, 1 a static call, 2 a mode.
    what: c_int,
    /// For a key, whether it shall be on. For a mode, the number of the new mode.
    number: c_int,
    patchable: *const c_void,
    /// The new target of the static call.
    function: Option<Function>,
    /// The default target of the static call.
    first: Option<Function>,
}

impl Request {
    /// The change in the core's form.
    ///
    /// # Safety
    /// `patchable` is null, misaligned, not mapped, or the address of what `what` names, which lives as long as the result. The functions have the
    /// call's type.
    unsafe fn change<'a>(&self) -> Result<RawChange<'a>, Refusal> {
        let number = self.number as usize; // A negative number becomes a very large one, which is refused.
        // SAFETY: the caller guarantees that `patchable` is the address of what `what` names, or an address that `key` and `patchable` refuse.
        unsafe {
            match self.what {
                0 => Ok(RawChange::Key(key(self.patchable.cast())?, number != 0)),
                1 => {
                    let call: &RawCall = patchable(self.patchable)?;
                    Ok(RawChange::Call(call, target(call, address(self.function), address(self.first))?))
                }
                2 => Ok(RawChange::Mode(patchable::<RawMode>(self.patchable)?, number)),
                _ => Err(Refusal::NotAKey),
            }
        }
    }
}

/// The `T` at an address from C. Refuses an address that is null, misaligned or not mapped.
///
/// # Safety
/// `at` is null, misaligned, not mapped, or the address of a `T` that lives as long as the result.
pub(crate) unsafe fn patchable<'a, T>(at: *const c_void) -> Result<&'a T, Refusal> {
    let at = at.cast::<T>();
    let at = if at.is_aligned() && is_mapped(at) { at } else { core::ptr::null() };
    // SAFETY: `at` is null, or aligned and mapped. If it is not null, the caller guarantees that it is the address of a `T` that lives as long as the
    // result.
    unsafe { at.as_ref() }.ok_or(Refusal::NotAKey)
}

/// Carries out all requests of the array or none. Checks all of them before the first key, call or mode changes. Returns 0 or an error.
///
/// # Safety
/// `requests` is null, or the address of `count` requests, to which nobody writes during the call. Each meets the conditions of `Request::change`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_commit(requests: *const Request, count: usize) -> c_int {
    let commit = || {
        if count == 0 {
            return Ok(Outcome::default());
        }
        // SAFETY: the caller guarantees that `requests` is null or the address of `count` requests, to which nobody writes during this call.
        let requests = unsafe { slice(requests, count) }?;
        // SAFETY: the caller guarantees that each request meets the conditions of `change`: in particular, each function has its call's type.
        unsafe { jumplabel::commit_all(requests.iter().map(|request| request.change())) }
    };
    code(commit())
}
