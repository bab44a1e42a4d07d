//! The record of the object that contains this instance, and what registers and unregisters it, on Windows.
//!
//! ```text
//!   the loader calls       the object's TLS callbacks   ── registers it: before its constructors and DllMain
//!                          its entry, of the C library  ── constructors: the first puts the library's destructor on the object's list; DllMain
//!   and at FreeLibrary     its TLS callbacks
//!                          its entry                    ── DllMain; the list, from the last entry to the first: unregisters it
//! ```
//!
//! All of this is in one module with the record: the linker takes it from an archive because others refer to the record.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use super::{__jumplabel_object, __jumplabel_unregister_object, register_own};
use crate::format::{IN_PROGRAM, Object};
use crate::platform::instances::RUNTIME;
use crate::platform::is_ending;

core::arch::global_asm!(crate::__object_asm!(), runtime = sym RUNTIME);

/// The function that registers the object. After Windows has loaded an object, before all other constructors, it calls the functions that
/// the object lists in `.CRT$XL` (PE format, "The .tls Section"). `XLAB` comes after the beginning of the list, `XLA`, and before the functions
/// that others put there.
#[used]
#[unsafe(link_section = ".CRT$XLAB")]
static CALLBACK: extern "system" fn(*const c_void, u32, *const c_void) = called_by_loader;

// MSVC's C library has the beginning and the end of that list in a file that is linked only if somebody names this symbol.
#[cfg(target_env = "msvc")]
core::arch::global_asm!(".pushsection .drectve,\"yn\"", ".ascii \" /INCLUDE:_tls_used \"", ".popsection");

/// The first constructor of this object (of `.CRT$XC`) that its C library calls. It registers the library's destructor with the object's own list of
/// functions to be called when the object is unloaded. That list is called in the opposite order, and after `DllMain`. So this destructor runs after
/// all others, and an object's own destructors can still flip and check. (`XCAB` comes after the beginning of the list, `XCA`.)
#[used]
#[unsafe(link_section = ".CRT$XCAB")]
static CONSTRUCTOR: extern "C" fn() = called_by_c_library;

/// Whether the library's destructor is on the object's list.
static IS_ON_LIST: AtomicBool = AtomicBool::new(false);

extern "C" fn called_by_c_library() {
    unsafe extern "C" {
        // Each object has a function of its own with this name: it is not in a DLL.
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: this is the record of this object, whose fields are atomic.
    let is_program = unsafe { &*(&raw const __jumplabel_object).cast::<Object>() }.has(IN_PROGRAM);
    // SAFETY: the function is in this object, which calls it before it is unloaded.
    if !is_program && unsafe { atexit(unregister_own) } == 0 {
        IS_ON_LIST.store(true, Ordering::Relaxed);
    }
}

/// Unregisters the object that contains this instance, unless the process ends: then no object is unloaded before another, and destructors flip.
extern "C" fn unregister_own() {
    if !is_ending() {
        // SAFETY: this is the record of this object, which is about to be unloaded.
        unsafe { __jumplabel_unregister_object((&raw const __jumplabel_object).cast_mut().cast()) };
    }
}

/// The function that Windows calls. Its arguments are those of `DllMain`, but the last one says nothing: it does not tell an unloading from the end
/// of the process.
extern "system" fn called_by_loader(_: *const c_void, occasion: u32, _: *const c_void) {
    const DLL_PROCESS_DETACH: u32 = 0;
    const DLL_PROCESS_ATTACH: u32 = 1;
    match occasion {
        DLL_PROCESS_ATTACH => register_own(),
        // A DLL whose C library has called no constructor, and so calls no destructor. Or one whose list was full.
        DLL_PROCESS_DETACH if !IS_ON_LIST.load(Ordering::Relaxed) => unregister_own(),
        _ => {}
    }
}
