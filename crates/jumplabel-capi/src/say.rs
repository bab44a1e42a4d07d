//! Tells the warning hook a text; and what a change that succeeded may leave to warn of.

use core::ffi::{c_char, c_void};
use core::ptr::null_mut;

use jumplabel::Outcome;
use jumplabel::text::{Line, Pieces};

use crate::hook::Hook;

/// The hook's type.
pub type WarnHook = unsafe extern "C" fn(message: *const c_char, data: *mut c_void);

static HOOK: Hook = Hook::none();

/// Sets the hook.
pub(crate) fn set(hook: Option<WarnHook>, data: *mut c_void) {
    HOOK.set(hook.map_or(null_mut(), |hook| hook as *mut ()), data);
}

/// What a change that succeeded may leave, and C has no result for.
pub(crate) trait Heed {
    /// Warns of it.
    fn heed(&self) {}
}

impl Heed for () {}

impl Heed for Outcome {
    fn heed(&self) {
        // A kernel's platform leaves nothing writable.
        if cfg!(feature = "hosted") && self.warnings.left_writable {
            say(&|pieces| {
                pieces(
                    "jumplabel: the sites have changed, and code is still writable, because the system refuses to take that back: allow \
                     mprotect; the next change, and jumplabel_verify(), try again",
                );
            });
        }
    }
}

/// Tells the hook. Without one: one line on standard error; in a kernel, nothing.
#[cold]
pub(crate) fn say(tell: &dyn Fn(Pieces<'_>)) {
    let (hook, data) = HOOK.chosen();
    // SAFETY: what `set` stored; null is None.
    let hook = unsafe { core::mem::transmute::<*mut (), Option<WarnHook>>(hook) };
    let line = Line::<320>::new(if hook.is_some() { 0 } else { b'\n' }, tell);
    match hook {
        // SAFETY: the program says so. The line ends with a 0.
        Some(hook) => unsafe { hook(line.bytes().as_ptr().cast(), data) },
        None => crate::system::print(line.bytes()),
    }
}
