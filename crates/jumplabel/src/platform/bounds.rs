//! The bounds of an object in memory.

use core::ops::Range;

use crate::format::KEY_BYTES;

/// The position of an object in a process.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The words from which [`Platform::image`](super::Platform::image) computes the object's bounds.
    pub words: [usize; 3],
    /// Whether the object is the program or the kernel, which is never unloaded.
    pub in_program: bool,
    /// Whether the protection of the object's code has a bit that a change of protection would remove (aarch64: `PROT_BTI`).
    pub guarded: bool,
}

/// The largest number of segments that an [`Image`] keeps apart. Objects usually have four or five.
pub const SEGMENTS: usize = 8;

/// The bounds of an object.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// The addresses from the object's first segment to its last. There can be holes between segments.
    all: (usize, usize),
    /// The object's segments. If there are too many, the last element spans all that have no element of their own.
    segments: [(usize, usize); SEGMENTS],
    /// The segments that are executable: a bit for each.
    executable: u8,
    /// The beginning and the end of freed code.
    freed: (usize, usize),
    /// Code below this address does not run. Copies of it run instead, at this address or above. 0 if there are no copies.
    copies: usize,
}

impl Image {
    /// The bounds of an object that lies at `all`, with its code at `code`. `freed` has the meaning that [`without`](Self::without) gives it. An
    /// image is large, so this function makes it in the caller's place, without a copy.
    #[must_use]
    #[inline]
    pub const fn new(code: Range<usize>, all: Range<usize>, freed: Range<usize>) -> Image {
        const NONE: (usize, usize) = (0, 0);
        let (code, all, freed) = ((code.start, code.end), (all.start, all.end), (freed.start, freed.end));
        Image { all, segments: [code, all, NONE, NONE, NONE, NONE, NONE, NONE], executable: 1, freed, copies: 0 }
    }

    /// The bounds of an object with these segments. For each segment, `segments` has the beginning, the end, and whether it is executable. `None`
    /// if there is no segment.
    #[must_use]
    pub fn of(segments: impl Iterator<Item = ((usize, usize), bool)>) -> Option<Image> {
        let mut all: Option<(usize, usize)> = None;
        let mut known = [(0, 0); SEGMENTS];
        let mut executables = 0;
        for (number, (bounds, executable)) in segments.enumerate() {
            all = Some(all.map_or(bounds, |all| join(all, bounds)));
            let at = number.min(SEGMENTS - 1);
            executables |= u8::from(executable) << at;
            if let Some(place) = known.get_mut(at) {
                *place = if number < SEGMENTS { bounds } else { join(*place, bounds) };
            }
        }
        all.map(|all| Image { all, segments: known, executable: executables, freed: (0, 0), copies: 0 })
    }

    /// The same bounds without the code at these addresses, which was freed (Linux: init text). A site of which any byte lies in that code is never
    /// written again.
    #[must_use]
    #[inline]
    pub fn without(mut self, code: Range<usize>) -> Image {
        self.freed = (code.start, code.end);
        self
    }

    /// Records that a tool has copied code of the object to addresses from `start` on. The original code is still there.
    #[cfg_attr(not(jumplabel_linux), allow(dead_code))]
    pub(super) fn set_copies(&mut self, start: usize) {
        self.copies = start;
    }

    /// The addresses from the object's first segment to its last.
    #[must_use]
    pub fn bounds(&self) -> Range<usize> {
        self.all.0..self.all.1
    }

    /// Whether all of `bytes` bytes at `address` are code of the object.
    #[inline(never)]
    pub(crate) fn contains_code(&self, address: usize, bytes: usize) -> bool {
        let is_executable = |at: usize| self.executable >> at & 1 != 0;
        self.segments.iter().enumerate().any(|(at, &segment)| is_executable(at) && within(segment, address, bytes))
    }

    /// Whether any of `bytes` bytes at `address` was freed.
    pub(crate) fn is_freed(&self, address: usize, bytes: usize) -> bool {
        address < self.freed.1 && address.saturating_add(bytes) > self.freed.0
    }

    /// Whether a copy of the code at `address` runs instead of that code.
    pub(crate) fn is_copied(&self, address: usize) -> bool {
        address < self.copies
    }

    /// Whether a slot can lie at `address`.
    pub(crate) fn contains_slot(&self, address: usize) -> bool {
        #[cfg(not(jumplabel_windows))]
        return self.contains_key(address);
        #[cfg(jumplabel_windows)]
        return self.segments.iter().any(|&segment| within(segment, address, size_of::<usize>()));
    }

    /// Whether a key can lie at `address`.
    #[inline(never)]
    pub(crate) fn contains_key(&self, address: usize) -> bool {
        address.is_multiple_of(KEY_BYTES) && self.segments.iter().any(|&segment| within(segment, address, KEY_BYTES))
    }
}

const _: () = assert!(SEGMENTS <= u8::BITS as usize);

pub(super) fn join(a: (usize, usize), b: (usize, usize)) -> (usize, usize) {
    (a.0.min(b.0), a.1.max(b.1))
}

fn within((start, end): (usize, usize), address: usize, bytes: usize) -> bool {
    start <= address && address.checked_add(bytes).is_some_and(|last| last <= end)
}
