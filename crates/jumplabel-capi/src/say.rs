//! Passes texts to the warning hook: errors, and warnings about changes that have succeeded.

use core::ffi::{c_char, c_void};
use core::ptr::null_mut;

use jumplabel::Outcome;
use jumplabel::text::{Pieces, line};

use crate::hook::Hook;

/// The type of the warning hook, which `jumplabel_set_warn` sets.
pub type WarnHook = unsafe extern "C" fn(message: *const c_char, data: *mut c_void);

static HOOK: Hook = Hook::none();

/// Sets the warning hook; `None` removes it.
pub(crate) fn set(hook: Option<WarnHook>, data: *mut c_void) {
    HOOK.set(hook.map_or(null_mut(), |hook| hook as *mut ()), data);
}

/// The result of a change that has succeeded. It may hold a warning, which C gets only through the hook.
pub(crate) trait Heed {
    /// Passes the warning to the hook, if the result holds one.
    fn heed(&self) {}
}

impl Heed for () {}

impl Heed for Outcome {
    fn heed(&self) {
        // Only a program can get this warning: a kernel's platform never leaves pages writable.
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

/// Passes a line to the warning hook. Without a hook, writes the line to standard error; in a kernel, does nothing.
#[cold]
pub(crate) fn say(tell: &dyn Fn(Pieces<'_>)) {
    let (hook, data) = HOOK.chosen();
    // SAFETY: only `set` sets `HOOK`: to the address of a `WarnHook`, or to null, which is `None`.
    let hook = unsafe { core::mem::transmute::<*mut (), Option<WarnHook>>(hook) };
    let mut room = [0; 320];
    let line = line(&mut room, if hook.is_some() { 0 } else { b'\n' }, tell);
    match hook {
        // SAFETY: the program has passed the hook and `data` together, and so guarantees that the hook can be called with `data`. The line ends with
        // a 0.
        Some(hook) => unsafe { hook(line.as_ptr().cast(), data) },
        None => crate::system::print(line),
    }
}
