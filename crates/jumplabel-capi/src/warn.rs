//! Warnings: for what Linux says with a WARN, and for the errors of functions without a result.
//!
//! ```text
//!   a program    warn ───────────────► tell ──► the hook, or standard error
//!   a kernel     warn ──► WARN, set by jumplabel_set_warn
//!                          ├─► tell ──► the hook
//!                          └─► null: nobody hears it
//! ```
//!
//! So a kernel that sets no hook has none of the texts, because nothing in it refers to them: `--gc-sections` takes them out.

use core::ffi::c_void;
#[cfg(not(feature = "hosted"))]
use core::sync::atomic::{AtomicPtr, Ordering};

use jumplabel::{RawKey, text};

use crate::result::Refusal;
use crate::say::{self, WarnHook};

/// Null, or [`tell`].
#[cfg(not(feature = "hosted"))]
static WARN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the hook. Null: one line on standard error; in a kernel, nothing.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_set_warn(hook: Option<WarnHook>, data: *mut c_void) {
    say::set(hook, data);
    #[cfg(not(feature = "hosted"))]
    // If the compiler knew what is stored here, it would have `warn` call it.
    WARN.store(core::hint::black_box(tell as *mut ()), Ordering::Release);
}

/// Warns that `function` was refused.
#[cold]
pub(crate) fn warn(function: &str, key: *const RawKey, refusal: Refusal) {
    #[cfg(feature = "hosted")]
    tell(function, key, refusal);
    #[cfg(not(feature = "hosted"))]
    {
        // SAFETY: null, which is `None`, or `tell`.
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
