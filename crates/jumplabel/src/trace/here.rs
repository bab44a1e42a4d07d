//! What each thread knows of itself.

use core::cell::Cell;

use super::counting::Word;

/// A variable of each thread. It begins as zeroes.
#[repr(C)]
pub(super) struct Here {
    /// How often the thread is counted.
    pub(super) depth: Cell<u32>,
    /// In a child of a fork that happened in a probe: the child has counted this thread once more, with this word and this generation, until
    /// the thread has left all probes. Null: it has not.
    pub(super) again: Cell<*const Word>,
    pub(super) generation: Cell<u64>,
}

#[cfg(feature = "std")]
std::thread_local! {
    static HERE: Here = const { Here { depth: Cell::new(0), again: Cell::new(core::ptr::null()), generation: Cell::new(0) } };
}

/// Looks at the variable of the calling thread.
#[inline(always)]
#[cfg(feature = "std")]
pub(super) fn here<T>(look: impl FnOnce(&Here) -> T) -> T {
    HERE.with(look)
}

#[cfg(not(feature = "std"))]
const _: () = assert!(size_of::<Here>() <= crate::arch::thread::BYTES && align_of::<Here>() <= 8);

/// Looks at the variable of the calling thread.
#[inline(always)]
#[cfg(not(feature = "std"))]
pub(super) fn here<T>(look: impl FnOnce(&Here) -> T) -> T {
    // SAFETY: the variable of this thread, which is as large; it begins as zeroes, which are a `Here`, and nothing else uses it.
    look(unsafe { &*crate::arch::thread::variable().cast::<Here>() })
}
