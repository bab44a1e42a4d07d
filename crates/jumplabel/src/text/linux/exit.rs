//! The end of the process. The C library runs the destructors of all objects, as if each were unloaded, and other threads go on
//! running in them. From then on no object is unloaded any more, so that its sites can stay on the list, and flips go on
//! reaching them.
//!
//! A destructor cannot tell the end of the process from its object being unloaded. So the copy that stays asks to be called
//! before the destructors, and asks the loader to keep each object that is registered.

use core::ffi::c_void;

use super::{fork, hooks, keep_loaded, libc, pages};

pub(super) fn register() {
    // SAFETY: this copy is never unloaded. No object is named, so that the function is called at the end of the process.
    unsafe { libc::__cxa_atexit(Some(keep_all), core::ptr::null_mut(), core::ptr::null_mut()) };
}

/// Keeps all objects. One that comes later is unloaded like any other. If the lock cannot be taken (a handler of a fault in
/// the patcher ends the process), or there is no memory, they go as if they were unloaded.
///
/// Not in a child of fork that has one thread: what the loader knows was copied while another thread may have been loading, and
/// glibc ends a process that loads anything then. There is nobody who goes on flipping.
extern "C" fn keep_all(_: *mut c_void) {
    if fork::is_child() && pages::single_threaded() {
        return;
    }
    if let Some(hooks) = hooks() {
        (hooks.ending)(keep_loaded);
    }
}
