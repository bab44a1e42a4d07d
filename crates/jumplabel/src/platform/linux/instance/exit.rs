//! The end of the process. The C library then runs the destructors of all objects, as if each object were unloaded. But in fact no object is
//! unloaded, and other threads still run the code of these objects. So the objects stay on the list, and flips still reach their sites.
//!
//! A destructor cannot know whether the process ends or its object is being unloaded. So an instance that is never unloaded asks the C library to
//! call `keep_all` before the destructors. `keep_all` asks the loader to keep each registered object.
//!
//! The order in a program with glibc:
//!
//! ```text
//!   start   constructors of its libraries; __cxa_atexit(destructors); constructors of the program; main
//!   exit    if the first thread ends the process, what was registered for the end of that thread;
//!           then the functions that were given to __cxa_atexit, the last one first
//! ```
//!
//! If the program is linked with a library, the library's constructors run before glibc registers the destructors. Functions that these
//! constructors give to `__cxa_atexit` are called after the destructors. So an instance in a library also asks for a call at the end of the first
//! thread.

use core::ffi::c_void;

use super::{callbacks, fork};
use crate::platform::instances::RUNTIME;
use crate::platform::linux::loader::keep_loaded;
use crate::platform::linux::{libc, pages};

pub(crate) fn register(in_program: bool) {
    // SAFETY: this instance is never unloaded. The call names no object, so that the function is called at the end of the process.
    unsafe { libc::__cxa_atexit(Some(keep_all), core::ptr::null_mut(), core::ptr::null_mut()) };
    if !in_program && libc::gettid().is_some_and(|thread| thread.get() == libc::process()) {
        // SAFETY: this instance is never unloaded. The call names this instance as the object, because glibc 2.36 crashes if the call names
        // none.
        unsafe { libc::thread_atexit(keep_all, (&raw const RUNTIME).cast_mut().cast()) };
    }
}

/// Makes sure that no object that is loaded now will be unloaded. An object that is loaded later is unloaded like any other. If the process ends in
/// the handler of a fault in the patcher, the lock cannot be taken. Then all objects are unlinked as if they were unloaded.
///
/// Does nothing in a forked child that has one thread. If another thread of the parent was loading an object at the time of the fork, the child
/// has a copy of the loader's unfinished state, and glibc ends a process that loads anything in that state. Besides, the child does not need
/// this: it has no other thread that flips.
extern "C" fn keep_all(_: *mut c_void) {
    if fork::is_child() && pages::single_threaded() {
        return;
    }
    if let Some(callbacks) = callbacks() {
        (callbacks.ending)(keep_loaded);
    }
}
