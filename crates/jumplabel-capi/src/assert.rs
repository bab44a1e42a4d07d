//! Reports failed assertions of `include/jumplabel/assert.h`.

use core::ffi::{CStr, c_char, c_uint, c_void};
use core::ptr::null_mut;

use jumplabel::text::{self, Pieces};

use crate::hook::Hook;

/// C's `struct jumplabel_assertion`: the text and the place of an assertion.
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

/// Sets the hook that is called when an assertion fails; NULL removes it. Without a hook, a failed assertion writes one line to standard error, and
/// ends the process; in a kernel, it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_set_assert(hook: Option<AssertHook>, data: *mut c_void) {
    HOOK.set(hook.map_or(null_mut(), |hook| hook as *mut ()), data);
}

/// Writes one line about a failed assertion to standard error; in a kernel, does nothing.
///
/// # Safety
/// `assertion` is null, or the address of an assertion whose texts are null or end with a 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_assert_report(assertion: *const Assertion, _data: *mut c_void) {
    // SAFETY: the caller guarantees that `assertion` is null or the address of an assertion.
    let Some(assertion) = (unsafe { assertion.as_ref() }) else { return };
    let mut room = [0; 1024];
    let line = text::line(&mut room, b'\n', &|pieces| {
        // SAFETY: the caller guarantees that each text of the assertion is null or ends with a 0.
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

/// Passes a text of C to `pieces`; nothing if it is null.
///
/// # Safety
/// `name` is null, or a text that ends with a 0.
unsafe fn tell(name: *const c_char, pieces: Pieces<'_>) {
    if !name.is_null() {
        // SAFETY: the caller guarantees that `name`, which is not null, is a text that ends with a 0.
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
    // SAFETY: only `jumplabel_set_assert` sets `HOOK`: to the address of an `AssertHook`, or to null, which is `None`.
    match unsafe { core::mem::transmute::<*mut (), Option<AssertHook>>(hook) } {
        // SAFETY: the program has passed the hook and `data` together, and so guarantees that the hook can be called with `data`.
        Some(hook) => unsafe { hook(&raw const assertion, data) },
        None => {
            // SAFETY: the caller guarantees that the texts end with a 0.
            unsafe { jumplabel_assert_report(&raw const assertion, data) };
            #[cfg(feature = "hosted")]
            crate::system::abort();
        }
    }
}
