//! Warnings: where Linux has a WARN, and for errors of functions without a result.
//!
//! ```text
//!   a program    warn ───────────────► tell ──► the hook, or standard error
//!   a kernel     warn ──► WARN, set by jumplabel_set_warn
//!                          ├─► tell ──► the hook
//!                          └─► null: nobody hears it
//! ```
//!
//! If a kernel sets no hook, nothing refers to the texts, so `--gc-sections` drops them.

use core::ffi::c_void;
#[cfg(not(feature = "hosted"))]
use core::sync::atomic::{AtomicPtr, Ordering};

use jumplabel::{RawKey, text};

use crate::result::Refusal;
use crate::say::{self, WarnHook};

/// The function [`tell`], or null.
#[cfg(not(feature = "hosted"))]
static WARN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the hook. Without a hook, a warning is one line on standard error; in a kernel, it is lost.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_set_warn(hook: Option<WarnHook>, data: *mut c_void) {
    say::set(hook, data);
    #[cfg(not(feature = "hosted"))]
    // `black_box` hides the stored value from the compiler, which would otherwise make `warn` call `tell` directly.
    WARN.store(core::hint::black_box(tell as *mut ()), Ordering::Release);
}

/// Warns that `function` was refused, and says why.
#[cold]
pub(crate) fn warn(function: &str, key: *const RawKey, refusal: Refusal) {
    #[cfg(feature = "hosted")]
    tell(function, key, refusal);
    #[cfg(not(feature = "hosted"))]
    {
        // SAFETY: the word is `tell`, or null, which is `None`.
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
