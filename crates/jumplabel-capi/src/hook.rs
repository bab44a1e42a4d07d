//! A hook: a function of the program, and the data with which it is called.
//!
//! ```text
//!   set:     writes hook and data to the slot of generation + 1, then increments the generation
//!   chosen:  reads the generation, its slot, and the generation again; repeats if that has changed
//! ```
//!
//! Readers never wait and are never refused: not on another thread, not in a signal handler that interrupts a change of the hook, not in a child of
//! fork.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::Lock;

/// The hook and its data. The slot `generation % 2` holds the present hook, the other slot is for the next one.
pub(crate) struct Hook {
    slots: [Slot; 2],
    generation: AtomicUsize,
}

struct Slot {
    function: AtomicPtr<()>,
    data: AtomicPtr<c_void>,
}

impl Hook {
    /// A hook that is not set.
    pub(crate) const fn none() -> Hook {
        let slots = [const { Slot { function: AtomicPtr::new(null_mut()), data: AtomicPtr::new(null_mut()) } }; 2];
        Hook { slots, generation: AtomicUsize::new(0) }
    }

    /// Replaces the present hook. Null removes it.
    pub(crate) fn set(&self, function: *mut (), data: *mut c_void) {
        // The lock lets one thread at a time change the hook. If this thread already holds the lock, `take` fails; this is harmless, because then no
        // other thread changes the hook.
        let _lock = Lock::take();
        let generation = self.generation.load(Ordering::SeqCst).wrapping_add(1);
        let slot = &self.slots[generation % 2];
        slot.function.store(function, Ordering::SeqCst);
        slot.data.store(data, Ordering::SeqCst);
        self.generation.store(generation, Ordering::SeqCst);
    }

    /// Returns the present hook and its data.
    pub(crate) fn chosen(&self) -> (*mut (), *mut c_void) {
        loop {
            let generation = self.generation.load(Ordering::SeqCst);
            let slot = &self.slots[generation % 2];
            let (function, data) = (slot.function.load(Ordering::SeqCst), slot.data.load(Ordering::SeqCst));
            // If the generation has changed, the slot may hold half of a later hook.
            if self.generation.load(Ordering::SeqCst) == generation {
                return (function, data);
            }
        }
    }
}
