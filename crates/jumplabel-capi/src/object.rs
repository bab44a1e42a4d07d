//! The two functions that register and unregister an object of C or C++. A constructor and a destructor that the header emits call them. Their names
//! are visible, because the library may be a shared library; the core's own functions have hidden names. If the core has no sites, C code is compiled
//! with `JUMPLABEL_FALLBACK`, and does not call these functions.

use core::ffi::c_void;

#[cfg(jumplabel_sites)]
unsafe extern "C" {
    fn __jumplabel_register_object(object: *mut c_void);
    fn __jumplabel_unregister_object(object: *mut c_void);
}

/// Adds the record of an object that is being loaded to the list of objects.
///
/// # Safety
/// Only the constructor that the header emits calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_register_object(object: *mut c_void) {
    #[cfg(all(feature = "hosted", jumplabel_sites, not(windows), target_arch = "x86_64", target_pointer_width = "64"))]
    // SAFETY: only the constructor that the header emits calls this. It passes the record of its object.
    unsafe {
        crate::copied::refuse(object);
    }
    #[cfg(jumplabel_sites)]
    // SAFETY: only the constructor that the header emits calls this. It passes the record of its object, which is loaded.
    unsafe {
        __jumplabel_register_object(object);
    }
    let _ = object;
}

/// Removes the record of an object that is about to be unloaded from the list of objects.
///
/// # Safety
/// Only the destructor that the header emits calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_unregister_object(object: *mut c_void) {
    #[cfg(jumplabel_sites)]
    // SAFETY: only the destructor that the header emits calls this. It passes the record of its object.
    unsafe {
        __jumplabel_unregister_object(object);
    }
    let _ = object;
}
