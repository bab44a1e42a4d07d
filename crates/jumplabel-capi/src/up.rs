//! UP mode: lock prefixes in and out.

use core::ffi::{c_int, c_void};

use crate::result::{Refusal, code};

#[cfg(jumplabel_prefixes)]
unsafe extern "C" {
    fn __jumplabel_up_loaded(object: *mut c_void);
}

/// Puts all lock prefixes in.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_leave() -> c_int {
    code(jumplabel::up::leave().map_err(Refusal::Core))
}

/// Takes all lock prefixes out, if there is one thread.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_enter() -> c_int {
    code(jumplabel::up::enter().map_err(Refusal::Core))
}

/// Whether the lock prefixes are out.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_up_is_on() -> bool {
    jumplabel::up::is_on()
}

/// An object with prefixes is being loaded.
///
/// # Safety
/// Called by the constructor that the header emits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_up_loaded_(object: *mut c_void) {
    #[cfg(jumplabel_prefixes)]
    // SAFETY: by the contract.
    unsafe {
        __jumplabel_up_loaded(object);
    }
    let _ = object;
}
