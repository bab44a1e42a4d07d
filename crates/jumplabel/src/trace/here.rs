//! What each thread knows about itself: whether, and where, it is counted as a reader.

use core::cell::Cell;

use super::counting::Word;

/// The thread-local variable of the tracepoints. In a new thread, all its bytes are zero.
#[repr(C)]
pub(super) struct Here {
    /// The number of times that the thread is counted now, as a reader or as one that frees lists.
    pub(super) depth: Cell<u32>,
    /// Null, except in a child of a fork that happened in a probe. There, the thread was counted once more after the fork, in this word and in
    /// `generation`. The thread counts this off when it has left all probes.
    pub(super) again: Cell<*const Word>,
    pub(super) generation: Cell<u64>,
}

#[cfg(feature = "std")]
std::thread_local! {
    static HERE: Here = const { Here { depth: Cell::new(0), again: Cell::new(core::ptr::null()), generation: Cell::new(0) } };
}

/// Passes the calling thread's variable to `look`.
#[inline(always)]
#[cfg(feature = "std")]
pub(super) fn here<T>(look: impl FnOnce(&Here) -> T) -> T {
    HERE.with(look)
}

#[cfg(not(feature = "std"))]
const _: () = assert!(size_of::<Here>() <= crate::arch::thread::BYTES && align_of::<Here>() <= 8);

/// Passes the calling thread's variable to `look`.
#[inline(always)]
#[cfg(not(feature = "std"))]
pub(super) fn here<T>(look: impl FnOnce(&Here) -> T) -> T {
    // SAFETY: the variable is large enough for a `Here`, as the assertion above says, and aligned to 8 bytes. Its bytes start as zeros, which are a
    // valid `Here`. Only this thread has the address, and only this file uses the variable.
    look(unsafe { &*crate::arch::thread::variable().cast::<Here>() })
}
