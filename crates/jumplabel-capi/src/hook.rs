//! A function of the program's, with its data.
//!
//! ```text
//!   set:     slot of generation + 1 := hook, data      generation += 1
//!   chosen:  g := generation      slot of g            is it still g? else again
//! ```
//!
//! Whoever calls a hook never waits, nor is turned away by others that do: not on another thread, not in a signal handler that interrupts a
//! change of the hook, not in a child of fork.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::Lock;

/// The hook and its data, in two slots: that of the generation is the one that counts, and the next hook goes to the other.
pub(crate) struct Hook {
    slots: [Slot; 2],
    generation: AtomicUsize,
}

struct Slot {
    function: AtomicPtr<()>,
    data: AtomicPtr<c_void>,
}

impl Hook {
    /// None yet.
    pub(crate) const fn none() -> Hook {
        let slots = [const { Slot { function: AtomicPtr::new(null_mut()), data: AtomicPtr::new(null_mut()) } }; 2];
        Hook { slots, generation: AtomicUsize::new(0) }
    }

    /// Takes the place of the hook that there is. Null: there is none.
    pub(crate) fn set(&self, function: *mut (), data: *mut c_void) {
        // One at a time. Where this thread holds the lock already, it is the one.
        let _lock = Lock::take();
        let generation = self.generation.load(Ordering::SeqCst).wrapping_add(1);
        let slot = &self.slots[generation % 2];
        slot.function.store(function, Ordering::SeqCst);
        slot.data.store(data, Ordering::SeqCst);
        self.generation.store(generation, Ordering::SeqCst);
    }

    /// The hook, with the data that belongs to it.
    pub(crate) fn chosen(&self) -> (*mut (), *mut c_void) {
        loop {
            let generation = self.generation.load(Ordering::SeqCst);
            let slot = &self.slots[generation % 2];
            let (function, data) = (slot.function.load(Ordering::SeqCst), slot.data.load(Ordering::SeqCst));
            // Else the slot may have been given to the hook after the next.
            if self.generation.load(Ordering::SeqCst) == generation {
                return (function, data);
            }
        }
    }
}
