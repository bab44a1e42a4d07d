//! The end of the process. The C library runs the destructors of all objects, as if each were unloaded, while other threads go on
//! running in their code. In truth no object is unloaded then. So the objects stay on the list, and flips go on reaching their sites.
//!
//! A destructor cannot tell the end of the process from its object being unloaded. So the instance that stays asks to be called
//! before the destructors, and asks the loader to keep each object that is registered.
//!
//! ```text
//!   glibc starts a program: constructors of its libraries; __cxa_atexit(destructors); constructors of the program; main
//!                      exit: what the first thread's end calls, if that thread ends the process; what __cxa_atexit was told, the last first
//! ```
//!
//! So an instance in a library that the program is linked with asks to be called at the end of the first thread, too.

use core::ffi::c_void;

use super::{callbacks, fork};
use crate::platform::instances::RUNTIME;
use crate::platform::linux::loader::keep_loaded;
use crate::platform::linux::{libc, pages};

pub(crate) fn register(in_program: bool) {
    // SAFETY: this instance is never unloaded. No object is named, so that the function is called at the end of the process.
    unsafe { libc::__cxa_atexit(Some(keep_all), core::ptr::null_mut(), core::ptr::null_mut()) };
    if !in_program && rustix::process::getpid() == rustix::thread::gettid() {
        // SAFETY: this instance is never unloaded. It is named as the object, because glibc 2.36 crashes if none is.
        unsafe { libc::thread_atexit(keep_all, (&raw const RUNTIME).cast_mut().cast()) };
    }
}

/// Keeps all objects. An object that comes later is unloaded like any other. If the lock cannot be taken (a handler of a fault in
/// the patcher ends the process), the objects go as if they were unloaded.
///
/// Does nothing in a child of fork that has one thread. Another thread of the parent may have been loading when the loader's state was
/// copied, and then glibc ends a process that loads anything. No other thread goes on flipping there.
extern "C" fn keep_all(_: *mut c_void) {
    if fork::is_child() && pages::single_threaded() {
        return;
    }
    if let Some(callbacks) = callbacks() {
        (callbacks.ending)(keep_loaded);
    }
}
