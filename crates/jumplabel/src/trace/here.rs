//! The data of a thread about itself: whether, and where, it is counted.

use core::cell::Cell;

use super::counting::Word;

/// The thread-local variable of the tracepoints. It starts as zeros.
#[repr(C)]
pub(super) struct Here {
    /// The number of times that the thread is counted now.
    pub(super) depth: Cell<u32>,
    /// Set in a child of a fork that happened in a probe. The child has counted this thread once more, with this word and this generation, until
    /// the thread has left all probes. Otherwise null.
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
    // SAFETY: the thread's variable is large enough. It starts as zeros, which are a valid `Here`, and no other code uses it.
    look(unsafe { &*crate::arch::thread::variable().cast::<Here>() })
}
