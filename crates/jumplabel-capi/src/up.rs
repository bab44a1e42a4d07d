//! The C functions of UP mode, in which a process with one thread runs without `lock` prefixes.

use core::ffi::c_int;

use crate::result::{Refusal, code};

/// Leaves UP mode: puts all lock prefixes back. Returns 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_leave() -> c_int {
    code(jumplabel::up::leave().map_err(Refusal::Core))
}

/// Enters UP mode: removes all lock prefixes. Returns 0 or an error, for example if the process has several threads.
///
/// # Safety
/// The caller keeps the rules of lock_prefix.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_up_enter() -> c_int {
    // SAFETY: the caller guarantees the rules of lock_prefix.h, in particular that no thread starts before `jumplabel_up_leave`.
    code(unsafe { jumplabel::up::enter() }.map_err(Refusal::Core))
}

/// Returns true if the process is in UP mode.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_is_on() -> bool {
    jumplabel::up::is_on()
}
