//! Where the kernel and its modules lie, and which objects have no bounds.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::format::Object;
use jumplabel::platform::{Image, Place};

use crate::bounds::{Bounds, Slot};

/// The greatest number of modules with sites that can be loaded at a time.
const MODULES: usize = 16;

/// The greatest number of objects without bounds that are remembered.
const UNBOUNDED: usize = 4;
/// A record's address that no object has.
const TOO_MANY: usize = usize::MAX;

pub(crate) struct Objects {
    /// The bounds of the kernel, and of the modules.
    slots: [Slot; 1 + MODULES],
    /// The records of objects without bounds; 0 in free places. If there are too many, the last one becomes [`TOO_MANY`], and never goes.
    unbounded: [AtomicUsize; UNBOUNDED],
}

impl Objects {
    pub(crate) const fn new() -> Self {
        Objects { slots: [const { Slot::new() }; 1 + MODULES], unbounded: [const { AtomicUsize::new(0) }; UNBOUNDED] }
    }

    /// Says where the kernel lies.
    pub(crate) fn set_kernel(&self, bounds: &Bounds) {
        let [kernel, ..] = &self.slots;
        kernel.set(bounds);
    }

    /// True if the kernel, or a module that is known, lies there.
    pub(crate) fn overlaps(&self, bounds: &Bounds) -> bool {
        let lies_here = |slot: &Slot| slot.get().all.start < bounds.all.end && bounds.all.start < slot.get().all.end;
        self.slots.iter().any(lies_here)
    }

    /// Notes the bounds of a module that is loaded. False if there are too many modules, or if it overlaps one that is known, or the kernel.
    pub(crate) fn load(&self, bounds: &Bounds) -> bool {
        if self.overlaps(bounds) {
            return false;
        }
        let free = self.slots.iter().skip(1).find(|slot| slot.get().all.is_empty());
        free.inspect(|slot| slot.set(bounds)).is_some()
    }

    /// Forgets a module that is unloaded.
    pub(crate) fn unload(&self, bounds: &Bounds) {
        let here = self.slots.iter().skip(1).find(|slot| slot.get() == *bounds);
        here.into_iter().for_each(Slot::clear);
        let gone = self.unbounded.iter().filter(|record| bounds.all.contains(&record.load(Ordering::Relaxed)));
        gone.for_each(|record| record.store(0, Ordering::Relaxed));
    }

    /// With the lock held: notes that this code is freed. False if code of the same object was freed before, or if it is not all code of one object.
    pub(crate) fn free(&self, code: &Range<usize>) -> bool {
        let contains = |slot: &&Slot| slot.get().code.start <= code.start && code.end <= slot.get().code.end;
        !code.is_empty() && self.slots.iter().find(contains).is_some_and(|slot| slot.free(code))
    }

    /// The record of an object whose bounds are not known.
    pub(crate) fn unbounded(&self) -> Option<usize> {
        self.unbounded.iter().map(|record| record.load(Ordering::Relaxed)).find(|&record| record != 0)
    }

    /// The place of a record's object. If it is not known, all flips are refused until the object goes.
    ///
    /// # Safety
    /// `record` is the address of an object's record.
    pub(crate) unsafe fn place(&self, record: usize) -> Place {
        let found = self.slots.iter().position(|slot| slot.get().all.contains(&record));
        // SAFETY: the caller guarantees that it is the address of a record.
        let object = unsafe { &*(record as *const Object) };
        let is_bounded = |at: usize| self.slots.get(at).is_some_and(|slot| object.has_bounds(&slot.get().all));
        if !found.is_some_and(is_bounded) {
            self.refuse(record);
        }
        // The first word is the place of the linker's address 0.
        Place { words: [0, found.map_or(0, |at| at + 1), 0], in_program: found == Some(0), guarded: false }
    }

    /// Notes an object without bounds: all flips are refused until it goes.
    fn refuse(&self, record: usize) {
        let is_noted =
            |place: &AtomicUsize| match place.compare_exchange(0, record, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => true,
                Err(now) => now == record,
            };
        if let (false, [.., last]) = (self.unbounded.iter().any(is_noted), &self.unbounded) {
            last.store(TOO_MANY, Ordering::Relaxed);
        }
    }

    /// The bounds of the object whose place has these words.
    pub(crate) fn image(&self, [_, number, _]: [usize; 3]) -> Option<Image> {
        let slot = self.slots.get(number.wrapping_sub(1));
        Some(slot?.image())
    }
}
