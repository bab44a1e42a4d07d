//! The bounds of the kernel and of its modules.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::platform::Image;

/// The addresses of an object, which is the kernel or a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The object's code.
    pub code: Range<usize>,
    /// All of the object: code, tables, data.
    pub all: Range<usize>,
}

/// The bounds of the kernel or of a module: its code, all of it, its freed code. All are 0 if the slot is empty.
pub(crate) struct Slot([AtomicUsize; 6]);

impl Slot {
    pub(crate) const fn new() -> Self {
        Slot([const { AtomicUsize::new(0) }; 6])
    }

    pub(crate) fn set(&self, bounds: &Bounds) {
        let words = [bounds.code.start, bounds.code.end, bounds.all.start, bounds.all.end, 0, 0];
        // Each start is stored before its end: a thread that reads meanwhile sees a start without an end, which is an empty range. An end without its
        // start would be a range from 0 on.
        self.0.iter().zip(words).for_each(|(place, word)| place.store(word, Ordering::Release));
    }

    /// Empties the slot: the object is gone.
    pub(crate) fn clear(&self) {
        self.0.iter().rev().for_each(|place| place.store(0, Ordering::Release));
    }

    pub(crate) fn get(&self) -> Bounds {
        let [a, b, c, d, ..] = &self.0;
        let load = |word: &AtomicUsize| word.load(Ordering::Acquire);
        Bounds { code: load(a)..load(b), all: load(c)..load(d) }
    }

    /// The bounds in the library's form.
    pub(crate) fn image(&self) -> Image {
        let [code, code_end, all, all_end, freed, freed_end] = &self.0;
        let load = |word: &AtomicUsize| word.load(Ordering::Acquire);
        Image::new(load(code)..load(code_end), load(all)..load(all_end), load(freed)..load(freed_end))
    }

    /// The part of the object's code that was freed.
    pub(crate) fn freed(&self) -> Range<usize> {
        let [.., a, b] = &self.0;
        a.load(Ordering::Acquire)..b.load(Ordering::Acquire)
    }

    /// With the lock held: notes that `code` is freed. False if other code of the object was freed before.
    pub(crate) fn free(&self, code: &Range<usize>) -> bool {
        let is_first = self.freed().is_empty();
        if let (true, [.., start, end]) = (is_first, &self.0) {
            start.store(code.start, Ordering::Release);
            end.store(code.end, Ordering::Release);
        }
        is_first
    }
}
