//! Transactions from C: the caller passes an array of changes, of any length.

use core::ffi::{c_int, c_uchar, c_void};

use jumplabel::{Outcome, RawCall, RawChange, RawKey, RawMode};

use crate::call::{Function, address, target};
use crate::result::{Key, Refusal, code, key};
use crate::system::is_mapped;

/// `struct jumplabel_change`.
#[repr(C)]
pub struct Change {
    key: Key,
    /// A `bool` from C.
    enable: c_uchar,
}

impl Change {
    /// # Safety
    /// `self.key` meets the conditions of [`key`].
    unsafe fn key(&self) -> Result<&RawKey, Refusal> {
        // SAFETY: the caller says that the key lives, or that `key` refuses its address.
        unsafe { key(self.key) }
    }
}

/// # Safety
/// `first` is null, misaligned, or the address of the first of `count` values.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: usize) -> Result<&'a [T], Refusal> {
    if first.is_null() || !first.is_aligned() || count > isize::MAX as usize / size_of::<T>() {
        return Err(Refusal::NotAKey);
    }
    // SAFETY: `first` is not null and aligned, so the caller says that `count` values lie there.
    Ok(unsafe { core::slice::from_raw_parts(first, count) })
}

/// Carries out the changes, all or none. Checks all keys before it changes the first one.
///
/// # Safety
/// `changes` is null, or the address of `count` changes, which nobody writes to during the call. Each change's key meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_set_all(changes: *const Change, count: usize) -> c_int {
    let set_all = || {
        if count == 0 {
            return Ok(Outcome::default());
        }
        // SAFETY: the caller passes `count` changes, and nobody writes to them meanwhile.
        let changes = unsafe { slice(changes, count) }?;
        // SAFETY: there is no static call among these changes, whose function could have a wrong type.
        unsafe {
            jumplabel::commit_all(changes.iter().map(|change| Ok(RawChange::Key(change.key()?, change.enable != 0))))
        }
    };
    code(set_all())
}

/// `struct jumplabel_request`.
#[repr(C)]
pub struct Request {
    /// The kind of object at `patchable`: 0 is a key, 1 a static call, 2 a mode.
    what: c_int,
    /// For a key, whether it shall be on. For a mode, the number of the new mode.
    number: c_int,
    patchable: *const c_void,
    function: Option<Function>,
    /// The first target of the static call.
    first: Option<Function>,
}

impl Request {
    /// # Safety
    /// `patchable` is null, misaligned, not mapped, or of the kind that `what` names; then it lives as long as the result. The function has the
    /// call's type.
    unsafe fn change<'a>(&self) -> Result<RawChange<'a>, Refusal> {
        let number = self.number as usize; // A negative number becomes a very large one, which is refused.
        // SAFETY: the caller says that `patchable` is of the kind that `what` names, and that the function has the call's type.
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

/// # Safety
/// `at` is null, misaligned, not mapped, or the address of a `T` that lives as long as the result.
pub(crate) unsafe fn patchable<'a, T>(at: *const c_void) -> Result<&'a T, Refusal> {
    let at = at.cast::<T>();
    let at = if at.is_aligned() && is_mapped(at) { at } else { core::ptr::null() };
    // SAFETY: `at` is null, or aligned and mapped. If it is not null, the caller passes a `T` that lives as long as the result.
    unsafe { at.as_ref() }.ok_or(Refusal::NotAKey)
}

/// Carries out the requests, all or none. Checks all of them before it changes the first key, call or mode.
///
/// # Safety
/// `requests` is null, or the address of `count` requests, which nobody writes to during the call. Each meets the conditions of `Request::change`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_commit(requests: *const Request, count: usize) -> c_int {
    let commit = || {
        if count == 0 {
            return Ok(Outcome::default());
        }
        // SAFETY: the caller passes `count` requests, and nobody writes to them meanwhile.
        let requests = unsafe { slice(requests, count) }?;
        // SAFETY: the caller says that each function has its call's type.
        unsafe { jumplabel::commit_all(requests.iter().map(|request| request.change())) }
    };
    code(commit())
}
