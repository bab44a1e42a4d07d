//! Reports assertions that have failed: `include/jumplabel/assert.h`.

use core::ffi::{CStr, c_char, c_uint, c_void};
use core::ptr::null_mut;

use jumplabel::text::{self, Pieces};

use crate::hook::Hook;

/// `struct jumplabel_assertion`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Assertion {
    text: *const c_char,
    file: *const c_char,
    function: *const c_char,
    line: c_uint,
}

/// The type of the hook that `jumplabel_set_assert` sets.
pub type AssertHook = unsafe extern "C" fn(assertion: *const Assertion, data: *mut c_void);

static HOOK: Hook = Hook::none();

/// Sets the hook. Without a hook, a failed assertion writes one line on standard error, and ends the process; in a kernel, it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_set_assert(hook: Option<AssertHook>, data: *mut c_void) {
    HOOK.set(hook.map_or(null_mut(), |hook| hook as *mut ()), data);
}

/// Writes one line about the assertion on standard error; in a kernel, does nothing.
///
/// # Safety
/// `assertion` is null, or the address of an assertion whose texts are null or end with a 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_assert_report(assertion: *const Assertion, _data: *mut c_void) {
    // SAFETY: the caller passes null, or an assertion.
    let Some(assertion) = (unsafe { assertion.as_ref() }) else { return };
    let mut room = [0; 1024];
    let line = text::line(&mut room, b'\n', &|pieces| {
        // SAFETY: the caller passes texts that are null or end with a 0.
        unsafe {
            tell(assertion.file, pieces);
            pieces(":");
            text::number(assertion.line.into(), pieces);
            pieces(": ");
            tell(assertion.function, pieces);
            pieces(": assertion failed: ");
            tell(assertion.text, pieces);
        }
    });
    crate::system::print(line);
}

/// # Safety
/// `name` is null, or a text that ends with a 0.
unsafe fn tell(name: *const c_char, pieces: Pieces<'_>) {
    if !name.is_null() {
        // SAFETY: the caller passes a text that ends with a 0.
        text::name(unsafe { CStr::from_ptr(name) }, pieces);
    }
}

/// Reports a failed assertion to the hook. `JUMPLABEL_ASSERT` calls this.
///
/// # Safety
/// The texts end with a 0.
#[unsafe(no_mangle)]
#[cold]
pub unsafe extern "C" fn jumplabel_assert_failed_(
    text: *const c_char,
    file: *const c_char,
    function: *const c_char,
    line: c_uint,
) {
    let assertion = Assertion { text, file, function, line };
    let (hook, data) = HOOK.chosen();
    // SAFETY: the word is one that `jumplabel_set_assert` stored: a hook, or null, which is `None`.
    match unsafe { core::mem::transmute::<*mut (), Option<AssertHook>>(hook) } {
        // SAFETY: the program set the hook together with these data, and so promises that the hook can be called with them.
        Some(hook) => unsafe { hook(&raw const assertion, data) },
        None => {
            // SAFETY: the caller passes texts that end with a 0.
            unsafe { jumplabel_assert_report(&raw const assertion, data) };
            #[cfg(feature = "hosted")]
            crate::system::abort();
        }
    }
}
