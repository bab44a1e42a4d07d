//! `jumplabel_on_change`: registers functions that are called after a flip.

use core::ffi::{c_int, c_long, c_void};

use jumplabel::platform::Notify;

use crate::result::{Key, Refusal, key};

/// Registers `told`, to be called with `data` after the key at `at` has changed; if `at` is null, after any key or mode has changed. Returns the
/// number of the registration, or an error.
///
/// # Safety
/// `at` meets the conditions of [`key`]. Any thread that flips can call `told` with `data`, until [`jumplabel_on_change_remove`] has returned 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_on_change(at: Key, told: Option<Notify>, data: *mut c_void) -> c_int {
    // SAFETY: the caller guarantees that `at` is a key that lives, or an address that `key` refuses.
    let is_key = at.is_null() || unsafe { key(at) }.is_ok();
    let Some(told) = told.filter(|_| is_key) else { return Refusal::NotAKey.code() };
    // SAFETY: the caller guarantees that any thread can call `told` with `data` until the registration is removed.
    let id = unsafe { jumplabel::on_change_raw(at as usize, told, data) };
    id.map_or_else(|error| Refusal::Core(error).code(), |id| id as c_int)
}

/// Removes the registration with this number. Returns the number of calls of its function that still run.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_on_change_remove(id: c_int) -> c_long {
    jumplabel::remove_raw(id.max(0) as u32) as c_long
}
