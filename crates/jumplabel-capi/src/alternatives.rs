//! The C functions of alternatives.

use core::ffi::{CStr, c_char, c_int};

use crate::result::{Refusal, code};

/// Puts in place the alternatives that this processor can run. Returns 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_alternatives_apply() -> c_int {
    code(jumplabel::alternatives::apply().map_err(Refusal::Core))
}

/// Returns whether the processor has the feature of this name.
///
/// # Safety
/// `feature` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_alternatives_has(feature: *const c_char) -> bool {
    // SAFETY: the caller guarantees that `feature` is null or a string that ends with a 0.
    let name = (!feature.is_null()).then(|| unsafe { CStr::from_ptr(feature) });
    name.is_some_and(|name| jumplabel::alternatives::has_named(name.to_bytes()))
}
