//! The data that each thread has about itself.

use core::cell::Cell;

use super::counting::Word;

/// A thread-local variable. It starts as zeros.
#[repr(C)]
pub(super) struct Here {
    /// The number of times that the thread is counted.
    pub(super) depth: Cell<u32>,
    /// For a child of a fork that happened in a probe. The child has counted this thread once more, with this word and this generation, until
    /// the thread has left all probes. Null if it has not.
    pub(super) again: Cell<*const Word>,
    pub(super) generation: Cell<u64>,
}

#[cfg(feature = "std")]
std::thread_local! {
    static HERE: Here = const { Here { depth: Cell::new(0), again: Cell::new(core::ptr::null()), generation: Cell::new(0) } };
}

/// Passes the variable of the calling thread to `look`.
#[inline(always)]
#[cfg(feature = "std")]
pub(super) fn here<T>(look: impl FnOnce(&Here) -> T) -> T {
    HERE.with(look)
}

#[cfg(not(feature = "std"))]
const _: () = assert!(size_of::<Here>() <= crate::arch::thread::BYTES && align_of::<Here>() <= 8);

/// Passes the variable of the calling thread to `look`.
#[inline(always)]
#[cfg(not(feature = "std"))]
pub(super) fn here<T>(look: impl FnOnce(&Here) -> T) -> T {
    // SAFETY: this thread's variable is large enough. It starts as zeros, which are a valid `Here`, and nothing else uses it.
    look(unsafe { &*crate::arch::thread::variable().cast::<Here>() })
}
