//! A hook: a function of the program, and the data with which it is called.
//!
//! ```text
//!   set:     writes function and data to the slot for generation + 1, then increments the generation
//!   chosen:  reads the generation, its slot, and the generation again; repeats this if the generation has changed
//! ```
//!
//! A reader takes no lock and is never refused, not even in a signal handler that interrupts a change of the hook, or in a child of fork.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::Lock;

/// A hook. The slot `generation % 2` holds the present function and data; the other slot is for the next ones.
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
        // The lock lets one thread at a time change the hook. If this thread holds the lock already, `take` fails; but then no other thread changes
        // the hook either.
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
            // If the generation has changed, `function` and `data` may be of different hooks.
            if self.generation.load(Ordering::SeqCst) == generation {
                return (function, data);
            }
        }
    }
}
