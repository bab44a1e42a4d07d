//! Windows: the record of the object that contains this instance, and the functions that register and unregister this object.
//!
//! ```text
//!   loading: Windows calls
//!     the object's TLS callbacks      `CALLBACK` registers the object, before its constructors and DllMain run
//!     the entry of its C library      runs the constructors: `CONSTRUCTOR`, the first, puts `unregister_own` on the exit list; then DllMain
//!   unloading (FreeLibrary): Windows calls
//!     the object's TLS callbacks      `CALLBACK` unregisters the object only if `unregister_own` is not on the exit list
//!     the entry of its C library      runs DllMain; then the functions of the exit list, the last one first, and `unregister_own` at the end
//! ```
//!
//! The functions and the record are in one module, so they are in one file of the library's archive. The linker takes that file because other files
//! refer to the record.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use super::{__jumplabel_object, __jumplabel_unregister_object, register_own};
use crate::format::{IN_PROGRAM, Object};
use crate::platform::instances::RUNTIME;
use crate::platform::is_ending;

core::arch::global_asm!(crate::__object_asm!(), runtime = sym RUNTIME);

/// Puts [`called_by_loader`] on the object's list of TLS callbacks, `.CRT$XL` (PE format, "The .tls Section"). Windows calls these functions after it
/// has loaded the object, before all constructors. `XLAB` comes after the beginning of the list, `XLA`, and before the functions that others put
/// there.
#[used]
#[unsafe(link_section = ".CRT$XLAB")]
static CALLBACK: extern "system" fn(*const c_void, u32, *const c_void) = called_by_loader;

// MSVC's C library has the beginning and the end of that list in a file that is linked only if somebody names this symbol.
#[cfg(target_env = "msvc")]
core::arch::global_asm!(".pushsection .drectve,\"yn\"", ".ascii \" /INCLUDE:_tls_used \"", ".popsection");

/// Puts [`called_by_c_library`] on the object's list of constructors, `.CRT$XC`, as the first one. This constructor puts `unregister_own` on the
/// object's exit list: the functions that the C library calls when the object is unloaded. The C library calls them after `DllMain`, the last one
/// first. So `unregister_own` runs after all destructors, which can still flip and check. (`XCAB` comes after the beginning of the list, `XCA`.)
#[used]
#[unsafe(link_section = ".CRT$XCAB")]
static CONSTRUCTOR: extern "C" fn() = called_by_c_library;

/// Whether [`unregister_own`] is on the object's exit list.
static IS_ON_LIST: AtomicBool = AtomicBool::new(false);

extern "C" fn called_by_c_library() {
    unsafe extern "C" {
        // Each object contains a function of its own with this name. (The function is not in a DLL.)
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: this is the record of this object, whose fields are atomic.
    let is_program = unsafe { &*(&raw const __jumplabel_object).cast::<Object>() }.has(IN_PROGRAM);
    // SAFETY: `unregister_own` is in this object, whose C library calls it before the object is unloaded.
    if !is_program && unsafe { atexit(unregister_own) } == 0 {
        IS_ON_LIST.store(true, Ordering::Relaxed);
    }
}

/// Unregisters the object that contains this instance. Does nothing if the process ends, because the object's code stays in memory then, and later
/// destructors may still flip.
extern "C" fn unregister_own() {
    if !is_ending() {
        // SAFETY: this is the record of this object, which is about to be unloaded.
        unsafe { __jumplabel_unregister_object((&raw const __jumplabel_object).cast_mut().cast()) };
    }
}

/// The function that the loader calls, with the arguments of `DllMain`. Here, the last argument does not say whether the object is unloaded or the
/// process ends.
extern "system" fn called_by_loader(_: *const c_void, occasion: u32, _: *const c_void) {
    const DLL_PROCESS_DETACH: u32 = 0;
    const DLL_PROCESS_ATTACH: u32 = 1;
    match occasion {
        DLL_PROCESS_ATTACH => register_own(),
        // `unregister_own` is not on the exit list of a DLL if the DLL's C library has called no constructor, or had no room in the list. (It is
        // never on the exit list of the program. But for the program, this occasion is the end of the process.)
        DLL_PROCESS_DETACH if !IS_ON_LIST.load(Ordering::Relaxed) => unregister_own(),
        _ => {}
    }
}
