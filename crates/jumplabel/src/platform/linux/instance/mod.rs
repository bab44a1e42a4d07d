//! The lock, which all instances of the library in a process share; forks; the end of the process.

mod cancellation;
pub(super) mod exit;
pub(super) mod fork;
mod futex;
mod mutex;
pub(super) mod note;
pub(super) mod process_state;
pub(super) mod signals;
mod waiting;

use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::{Error, Refusals};
use crate::platform::{Callbacks, Token};

/// Takes the process-wide lock. If `anyway` is true, takes it even if signals cannot be blocked.
#[inline(never)]
pub(super) fn lock(anyway: bool) -> Result<Token, Error> {
    process_state::get().ok_or(Error::OutOfMemory)?.take(0, anyway).map_err(|refusal| match refusal {
        mutex::Refusal::Unblocked | mutex::Refusal::Nameless => Error::Denied { refused: Refusals::default() },
        _ => Error::Reentrant, // The refusal cannot be `GaveUp`, because a flip never gives up.
    })
}

/// The callbacks that were given to [`Platform::start`](crate::platform::Platform::start).
static CALLBACKS: AtomicPtr<Callbacks> = AtomicPtr::new(core::ptr::null_mut());

fn callbacks() -> Option<&'static Callbacks> {
    // SAFETY: the pointer is null, or was made of a `&'static` reference.
    unsafe { CALLBACKS.load(Ordering::Acquire).as_ref() }
}

/// Sets the functions that this instance calls at a fork and at the end of the process.
pub(super) fn set_callbacks(callbacks: &'static Callbacks) {
    CALLBACKS.store(core::ptr::from_ref(callbacks).cast_mut(), Ordering::Release);
}
