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
    /// Whether the object's code is mapped with a flag that the next change of its protection removes, unless that change asks for it again (aarch64:
    /// `PROT_BTI`).
    pub guarded: bool,
}

/// The number of segments that an [`Image`] has room for. Objects usually have four or five.
pub const SEGMENTS: usize = 8;

/// The bounds of an object and of its segments in memory.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// The addresses from the object's first segment to its last. There can be holes between segments.
    all: (usize, usize),
    /// The beginning and the end of each of the object's segments. If there are more than [`SEGMENTS`] segments, the last element spans all those
    /// that have no element of their own.
    segments: [(usize, usize); SEGMENTS],
    /// The segments that are executable: bit N belongs to element N of `segments`.
    executable: u8,
    /// The beginning and the end of the object's code that was freed.
    freed: (usize, usize),
    /// The address at which copies of the object's code begin, which a post-link optimizer has made. No thread runs the original code, which lies
    /// below. 0 if there are no copies.
    copies: usize,
}

impl Image {
    /// The bounds of an object that lies at `all`, and whose code lies at `code`. The code at `freed` was freed, see [`without`](Self::without). An
    /// image is large, so the function is inlined, to make the image in the caller's place without a copy.
    #[must_use]
    #[inline]
    pub const fn new(code: Range<usize>, all: Range<usize>, freed: Range<usize>) -> Image {
        const NONE: (usize, usize) = (0, 0);
        let (code, all, freed) = ((code.start, code.end), (all.start, all.end), (freed.start, freed.end));
        Image { all, segments: [code, all, NONE, NONE, NONE, NONE, NONE, NONE], executable: 1, freed, copies: 0 }
    }

    /// The bounds of an object with these segments. `segments` yields, for each segment, its beginning, its end, and whether it is executable. `None`
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

    /// The same bounds without the code at these addresses, which was freed (Linux: init text). The library never again writes a site of which any
    /// byte lies there.
    #[must_use]
    #[inline]
    pub fn without(mut self, code: Range<usize>) -> Image {
        self.freed = (code.start, code.end);
        self
    }

    /// Records that a tool has copied the object's code to addresses from `start` on. The original code still lies below `start`, but no thread runs
    /// it.
    #[cfg_attr(not(jumplabel_linux), allow(dead_code))]
    pub(super) fn set_copies(&mut self, start: usize) {
        self.copies = start;
    }

    /// The addresses from the object's first segment to its last.
    #[must_use]
    pub fn bounds(&self) -> Range<usize> {
        self.all.0..self.all.1
    }

    /// Whether the `bytes` bytes at `address` all lie in one executable segment of the object.
    #[inline(never)]
    pub(crate) fn contains_code(&self, address: usize, bytes: usize) -> bool {
        let is_executable = |at: usize| self.executable >> at & 1 != 0;
        self.segments.iter().enumerate().any(|(at, &segment)| is_executable(at) && within(segment, address, bytes))
    }

    /// Whether any of the `bytes` bytes at `address` lies in freed code.
    pub(crate) fn is_freed(&self, address: usize, bytes: usize) -> bool {
        address < self.freed.1 && address.saturating_add(bytes) > self.freed.0
    }

    /// Whether no thread runs the code at `address`, because a copy of that code runs instead.
    pub(crate) fn is_copied(&self, address: usize) -> bool {
        address < self.copies
    }

    /// Whether a slot can lie at `address`. A slot is a word that holds the address of a key; an indirect entry leads to the slot instead of to the
    /// key.
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
