//! A hook: a function of the program, and the data to call it with.
//!
//! ```text
//!   set:     slot of generation + 1 := hook, data      generation += 1
//!   chosen:  g := generation      slot of g            is it still g? else again
//! ```
//!
//! The reader of a hook never waits for others and is never turned away by them. This holds on another thread, in a signal handler that interrupts a
//! change of the hook, and in a child of fork.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::Lock;

/// The hook and its data. The slot `generation % 2` holds the present hook; the next hook goes to the other slot.
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
        // One thread at a time changes the hook. If this thread already holds the lock, `take` fails, and that is harmless: no other thread has the
        // lock.
        let _lock = Lock::take();
        let generation = self.generation.load(Ordering::SeqCst).wrapping_add(1);
        let slot = &self.slots[generation % 2];
        slot.function.store(function, Ordering::SeqCst);
        slot.data.store(data, Ordering::SeqCst);
        self.generation.store(generation, Ordering::SeqCst);
    }

    /// The present hook, and the data that belong to it.
    pub(crate) fn chosen(&self) -> (*mut (), *mut c_void) {
        loop {
            let generation = self.generation.load(Ordering::SeqCst);
            let slot = &self.slots[generation % 2];
            let (function, data) = (slot.function.load(Ordering::SeqCst), slot.data.load(Ordering::SeqCst));
            // If the generation has changed, the slot possibly holds half of a later hook: read again.
            if self.generation.load(Ordering::SeqCst) == generation {
                return (function, data);
            }
        }
    }
}
