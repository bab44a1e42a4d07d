//! The lock that all instances of the library in a process share, and the library's work when the process is forked or ends.

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

/// Takes the process-wide lock. If `anyway` is true, takes the lock even if the system refuses to block signals or to tell the thread's number.
#[inline(never)]
pub(super) fn lock(anyway: bool) -> Result<Token, Error> {
    process_state::get().ok_or(Error::OutOfMemory)?.take(0, anyway).map_err(|refusal| match refusal {
        mutex::Refusal::Unblocked | mutex::Refusal::Nameless => Error::Denied { refused: Refusals::default() },
        _ => Error::Reentrant, // Only a fork can get `GaveUp`.
    })
}

/// The callbacks that [`Platform::start`](crate::platform::Platform::start) was called with. Null before that.
static CALLBACKS: AtomicPtr<Callbacks> = AtomicPtr::new(core::ptr::null_mut());

fn callbacks() -> Option<&'static Callbacks> {
    // SAFETY: the pointer is null until `set_callbacks` stores one, and that function stores only `&'static` references.
    unsafe { CALLBACKS.load(Ordering::Acquire).as_ref() }
}

/// Sets the functions of the library that this module calls at a fork and at the end of the process.
pub(super) fn set_callbacks(callbacks: &'static Callbacks) {
    CALLBACKS.store(core::ptr::from_ref(callbacks).cast_mut(), Ordering::Release);
}
