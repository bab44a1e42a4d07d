//! Keeps objects registered at the end of the process. The C library then runs the destructors of all objects, as if the objects were unloaded. In
//! fact they stay loaded, and other threads still run their code. So the objects must stay on the library's lists, for flips to reach their sites.
//!
//! A destructor cannot know whether its object is being unloaded or the process is ending. So an instance that is never unloaded registers the
//! function [`keep_all`] with the C library, which calls it before the destructors. `keep_all` asks the loader to keep each registered object, and
//! the library then marks the object's record. The destructor of a marked object changes nothing.
//!
//! The order in a program with glibc:
//!
//! ```text
//!   start   constructors of its libraries; __cxa_atexit(destructors); constructors of the program; main
//!   exit    if the first thread ends the process, what was registered for the end of that thread;
//!           then the functions that were given to __cxa_atexit, the last one first
//! ```
//!
//! If the program is linked with a library, the library's constructors run before glibc registers the destructors. So a function that the library's
//! constructor gives to `__cxa_atexit` is called too late, after the destructors. Therefore the instance of such a library also asks for a call at
//! the end of the first thread.

use core::ffi::c_void;

use super::{callbacks, fork};
use crate::platform::instances::RUNTIME;
use crate::platform::linux::loader::keep_loaded;
use crate::platform::linux::{libc, pages};

pub(crate) fn register(in_program: bool) {
    // SAFETY: `keep_all` may be called at any time, and is never unloaded, because this instance is the program's or was kept loaded. The call names
    // no object, so `keep_all` is called at the end of the process and not when an object is unloaded.
    unsafe { libc::__cxa_atexit(Some(keep_all), core::ptr::null_mut(), core::ptr::null_mut()) };
    if !in_program && libc::gettid().is_some_and(|thread| thread.get() == libc::process()) {
        // SAFETY: `keep_all` may be called at any time, and is never unloaded. The call names the object of this instance, because glibc 2.36 crashes
        // if a call names no object.
        unsafe { libc::thread_atexit(keep_all, (&raw const RUNTIME).cast_mut().cast()) };
    }
}

/// Makes sure that no registered object is unloaded from now on, except objects that are loaded later. If the process ends in the handler of a fault
/// in the patcher, the lock cannot be taken, and this function keeps no object. The destructors then unregister all objects except the program.
///
/// Does nothing in a forked child that has only one thread. Such a child does not need this, because no other thread runs code that is patched. And
/// it might not survive this: if another thread of the parent was loading an object at the time of the fork, the child's copy of the loader's state
/// is unfinished, and glibc ends a process that loads anything in that state.
extern "C" fn keep_all(_: *mut c_void) {
    if fork::is_child() && pages::single_threaded() {
        return;
    }
    if let Some(callbacks) = callbacks() {
        (callbacks.ending)(keep_loaded);
    }
}
