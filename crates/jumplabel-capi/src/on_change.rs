//! Functions that hear of flips.

use core::ffi::{c_int, c_long, c_void};

use jumplabel::RawMode;
use jumplabel::platform::Notify;

use crate::batch::patchable;
use crate::result::{Key, Refusal, key};

fn register(of: Result<usize, Refusal>, told: Option<Notify>, data: *mut c_void) -> c_int {
    let register = |of| {
        let told = told.ok_or(Refusal::NotAKey)?;
        // SAFETY: the caller of the C function says that any thread may call it with these data.
        Ok(unsafe { jumplabel::on_change_raw(of, told, data) }?)
    };
    of.and_then(register).map_or_else(Refusal::code, |id| id as c_int)
}

/// Has a function called when a key has changed; null: any key or mode. The number of the registration, or an error.
///
/// # Safety
/// As for [`key`]. Any thread that flips may call the function with these data until [`jumplabel_on_change_remove`] has returned 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_on_change(at: Key, told: Option<Notify>, data: *mut c_void) -> c_int {
    // SAFETY: the caller passes null, a key that lives, or an address that `key` refuses.
    let of = if at.is_null() { Ok(0) } else { unsafe { key(at) }.map(jumplabel::RawKey::address) };
    register(of, told, data)
}

/// The same for a mode.
///
/// # Safety
/// As for [`jumplabel_on_change`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_on_change_mode(
    at: *const RawMode,
    told: Option<Notify>,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes a mode that lives, or an address that `patchable` refuses.
    register(unsafe { patchable::<RawMode>(at.cast()) }.map(RawMode::address), told, data)
}

/// Removes a registration: how many calls of its function still run.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_on_change_remove(id: c_int) -> c_long {
    jumplabel::remove_raw(id.max(0) as u32) as c_long
}
