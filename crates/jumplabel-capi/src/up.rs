//! UP mode: lock prefixes in and out.

use core::ffi::c_int;

use crate::result::{Refusal, code};

/// Puts all lock prefixes in.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_leave() -> c_int {
    code(jumplabel::up::leave().map_err(Refusal::Core))
}

/// Takes all lock prefixes out, if there is one thread.
///
/// # Safety
/// The header's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_up_enter() -> c_int {
    // SAFETY: the caller keeps the rules of lock_prefix.h: no thread starts before `jumplabel_up_leave`.
    code(unsafe { jumplabel::up::enter() }.map_err(Refusal::Core))
}

/// Whether the lock prefixes are out.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_is_on() -> bool {
    jumplabel::up::is_on()
}
