//! The two functions that the records of C and C++ objects call, from a constructor and a destructor. They have visible names, because the library
//! may be another object than the caller; the core's own names are hidden. If the core has no sites, C code is compiled with `JUMPLABEL_FALLBACK`,
//! and does not call these functions.

use core::ffi::c_void;

#[cfg(jumplabel_sites)]
unsafe extern "C" {
    fn __jumplabel_register_object(object: *mut c_void);
    fn __jumplabel_unregister_object(object: *mut c_void);
}

/// Adds the record of an object that is being loaded to the list.
///
/// # Safety
/// Only the constructor that the header emits calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_register_object(object: *mut c_void) {
    #[cfg(all(feature = "hosted", jumplabel_sites, not(windows), target_arch = "x86_64", target_pointer_width = "64"))]
    // SAFETY: the constructor that the header emits passes the record of its object.
    unsafe {
        crate::copied::refuse(object);
    }
    #[cfg(jumplabel_sites)]
    // SAFETY: the constructor passes the record of its object, which is loaded, because its constructor runs.
    unsafe {
        __jumplabel_register_object(object);
    }
    let _ = object;
}

/// Removes the record of an object that is about to be unloaded.
///
/// # Safety
/// Only the destructor that the header emits calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_unregister_object(object: *mut c_void) {
    #[cfg(jumplabel_sites)]
    // SAFETY: the destructor that the header emits passes the record of its object.
    unsafe {
        __jumplabel_unregister_object(object);
    }
    let _ = object;
}
