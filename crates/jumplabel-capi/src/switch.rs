//! Modes of N-way switches.

use core::ffi::c_int;

use jumplabel::RawMode;

use crate::result::Refusal;

// What include/jumplabel/static_switch.h declares.
const _: () = assert!(size_of::<RawMode>() == 8 && align_of::<RawMode>() == 8);

/// Makes all switches of `mode` take the arm of this number.
///
/// # Safety
/// `mode` is null, or a static mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_static_mode_set(mode: Option<&RawMode>, number: c_int) -> c_int {
    let Some(mode) = mode else { return Refusal::NotAKey.code() };
    // A negative number is larger than all others.
    mode.set(number as usize).map_or_else(|error| Refusal::Core(error).code(), |_| 0)
}
