//! UP mode: removes lock prefixes from the code, and puts them back.

use core::ffi::c_int;

use crate::result::{Refusal, code};

/// Puts all lock prefixes back.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_leave() -> c_int {
    code(jumplabel::up::leave().map_err(Refusal::Core))
}

/// Removes all lock prefixes, if the process has one thread.
///
/// # Safety
/// The caller keeps the rules of lock_prefix.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_up_enter() -> c_int {
    // SAFETY: the caller keeps the rules of lock_prefix.h: no thread starts before `jumplabel_up_leave`.
    code(unsafe { jumplabel::up::enter() }.map_err(Refusal::Core))
}

/// Returns true while the lock prefixes are removed.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_is_on() -> bool {
    jumplabel::up::is_on()
}
