//! Warnings: errors of functions that return none, and errors for which Linux has a WARN.
//!
//! ```text
//!   a program    warn ───────────────► tell ──► the hook, or standard error
//!   a kernel     warn ──► the word WARN, which jumplabel_set_warn sets
//!                          ├─► tell ──► the hook
//!                          └─► null: the warning is lost
//! ```
//!
//! If a kernel never calls `jumplabel_set_warn`, nothing refers to the texts of warnings, so `--gc-sections` drops them.

use core::ffi::c_void;
#[cfg(not(feature = "hosted"))]
use core::sync::atomic::{AtomicPtr, Ordering};

use jumplabel::{RawKey, text};

use crate::result::Refusal;
use crate::say::{self, WarnHook};

/// The address of the function [`tell`], or null before the first call of [`jumplabel_set_warn`].
#[cfg(not(feature = "hosted"))]
static WARN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the hook that gets warnings; NULL removes it. Without a hook, a warning is one line on standard error; in a kernel, it is lost.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_set_warn(hook: Option<WarnHook>, data: *mut c_void) {
    say::set(hook, data);
    #[cfg(not(feature = "hosted"))]
    // `black_box` hides the stored value from the compiler, which would otherwise make `warn` call `tell` directly.
    WARN.store(core::hint::black_box(tell as *mut ()), Ordering::Release);
}

/// Warns that a call of `function` for `key` was refused, and says why.
#[cold]
pub(crate) fn warn(function: &str, key: *const RawKey, refusal: Refusal) {
    #[cfg(feature = "hosted")]
    tell(function, key, refusal);
    #[cfg(not(feature = "hosted"))]
    {
        // SAFETY: the word is the address of `tell`, or null, which is `None`.
        let tell = unsafe {
            core::mem::transmute::<*mut (), Option<fn(&str, *const RawKey, Refusal)>>(WARN.load(Ordering::Acquire))
        };
        if let Some(tell) = tell {
            tell(function, key, refusal);
        }
    }
}

#[cold]
fn tell(function: &str, key: *const RawKey, refusal: Refusal) {
    say::say(&|pieces| {
        pieces("jumplabel: ");
        pieces(function);
        pieces("(");
        text::address(key as usize, pieces);
        pieces("): ");
        refusal.tell(pieces);
    });
}
