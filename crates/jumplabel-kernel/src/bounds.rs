//! The bounds of the kernel and of its modules.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::platform::Image;

/// The addresses of an object, which is the kernel or a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The object's code.
    pub code: Range<usize>,
    /// The whole object: code, tables, data.
    pub all: Range<usize>,
}

/// The bounds of the kernel or of a module: the start and the end of its code, of the whole object, and of its freed code. All are 0 if the slot is
/// empty.
pub(crate) struct Slot([AtomicUsize; 6]);

impl Slot {
    pub(crate) const fn new() -> Self {
        Slot([const { AtomicUsize::new(0) }; 6])
    }

    pub(crate) fn set(&self, bounds: &Bounds) {
        let words = [bounds.code.start, bounds.code.end, bounds.all.start, bounds.all.end, 0, 0];
        // Each start is stored before its end. So a thread that reads meanwhile may see a start and the end 0, which is an empty range. An end
        // without its start would be a range from address 0 on.
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

    /// Notes that `code` is freed. Returns false, and notes nothing, if code of this object was freed before. Called with the lock held.
    pub(crate) fn free(&self, code: &Range<usize>) -> bool {
        let is_first = self.freed().is_empty();
        if let (true, [.., start, end]) = (is_first, &self.0) {
            start.store(code.start, Ordering::Release);
            end.store(code.end, Ordering::Release);
        }
        is_first
    }
}
