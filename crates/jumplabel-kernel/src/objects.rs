//! Where the kernel and its modules lie, and which objects are *without bounds*. An object has bounds if the linker gave bounds to its tables, and if
//! these tables and its record lie in the kernel or in one known module. As long as there is an object without bounds, all flips are refused.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::format::Object;
use jumplabel::platform::{Image, Place};

use crate::bounds::{Bounds, Slot};

/// The greatest number of modules with sites that can be loaded at a time.
const MODULES: usize = 16;

/// The greatest number of objects without bounds that are remembered.
const UNBOUNDED: usize = 4;
/// An address that is not that of any record. It stands for objects that were not remembered.
const TOO_MANY: usize = usize::MAX;

pub(crate) struct Objects {
    /// The bounds of the kernel, and of the modules.
    slots: [Slot; 1 + MODULES],
    /// The addresses of the records of objects without bounds; 0 in free places. If there are too many, the last place holds [`TOO_MANY`] for ever.
    unbounded: [AtomicUsize; UNBOUNDED],
}

impl Objects {
    pub(crate) const fn new() -> Self {
        Objects { slots: [const { Slot::new() }; 1 + MODULES], unbounded: [const { AtomicUsize::new(0) }; UNBOUNDED] }
    }

    /// Sets the bounds of the kernel.
    pub(crate) fn set_kernel(&self, bounds: &Bounds) {
        let [kernel, ..] = &self.slots;
        kernel.set(bounds);
    }

    /// Whether `bounds` overlap the kernel or a known module.
    pub(crate) fn overlaps(&self, bounds: &Bounds) -> bool {
        let lies_here = |slot: &Slot| slot.get().all.start < bounds.all.end && bounds.all.start < slot.get().all.end;
        self.slots.iter().any(lies_here)
    }

    /// Notes the bounds of a module that is loaded. Returns false if there are too many modules, or if the module overlaps a known one or the kernel.
    pub(crate) fn load(&self, bounds: &Bounds) -> bool {
        if self.overlaps(bounds) {
            return false;
        }
        let free = self.slots.iter().skip(1).find(|slot| slot.get().all.is_empty());
        free.inspect(|slot| slot.set(bounds)).is_some()
    }

    /// Forgets the module with these bounds, and the objects without bounds that lie in them.
    pub(crate) fn unload(&self, bounds: &Bounds) {
        let here = self.slots.iter().skip(1).find(|slot| slot.get() == *bounds);
        here.into_iter().for_each(Slot::clear);
        let gone = self.unbounded.iter().filter(|record| bounds.all.contains(&record.load(Ordering::Relaxed)));
        gone.for_each(|record| record.store(0, Ordering::Relaxed));
    }

    /// Notes that `code` is freed. Returns false if code of the same object was freed before, or if `code` is empty or not in the code of one object.
    /// Called with the lock held.
    pub(crate) fn free(&self, code: &Range<usize>) -> bool {
        let contains = |slot: &&Slot| slot.get().code.start <= code.start && code.end <= slot.get().code.end;
        !code.is_empty() && self.slots.iter().find(contains).is_some_and(|slot| slot.free(code))
    }

    /// The address of the record of an object without bounds, if there is one.
    pub(crate) fn unbounded(&self) -> Option<usize> {
        self.unbounded.iter().map(|record| record.load(Ordering::Relaxed)).find(|&record| record != 0)
    }

    /// The place of the object whose record is at `record`. If the object is without bounds, all flips are refused until it is unloaded.
    ///
    /// # Safety
    /// `record` is the address of an object's record.
    pub(crate) unsafe fn place(&self, record: usize) -> Place {
        let found = self.slots.iter().position(|slot| slot.get().all.contains(&record));
        // SAFETY: the caller guarantees that `record` is the address of an object's record.
        let object = unsafe { &*(record as *const Object) };
        let is_bounded = |at: usize| self.slots.get(at).is_some_and(|slot| object.has_bounds(&slot.get().all));
        if !found.is_some_and(is_bounded) {
            self.refuse(record);
        }
        // The words of a place: 0, because the object lies at the addresses that the linker gave it; the number of the slot plus 1, or 0 if there is
        // none; unused.
        Place { words: [0, found.map_or(0, |at| at + 1), 0], in_program: found == Some(0), guarded: false }
    }

    /// Notes that the object with this record is without bounds.
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

    /// The bounds of the object whose [`place`](Self::place) has these words.
    pub(crate) fn image(&self, [_, number, _]: [usize; 3]) -> Option<Image> {
        let slot = self.slots.get(number.wrapping_sub(1));
        Some(slot?.image())
    }
}
