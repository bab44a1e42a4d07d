//! The C function of modes. A mode decides which arm its N-way switches take.

use core::ffi::{c_int, c_void};

use jumplabel::RawMode;

use crate::batch::patchable;
use crate::result::code;

// include/jumplabel/static_switch.h declares the same size and alignment.
const _: () = assert!(size_of::<RawMode>() == 8 && align_of::<RawMode>() == 8);

/// Makes all switches of `mode` take the arm with this number. Returns 0 or an error.
///
/// # Safety
/// `mode` is null, misaligned, not mapped, or a static mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_static_mode_set(mode: *const c_void, number: c_int) -> c_int {
    // SAFETY: the caller guarantees that `mode` is a static mode, or an address that `patchable` refuses.
    let mode = unsafe { patchable::<RawMode>(mode) };
    // A negative number becomes a very large one, which is refused.
    code(mode.and_then(|mode| Ok(mode.set(number as usize)?)))
}
