//! The bytes of a site, and the parts of them that a step writes.

use core::fmt;
use core::ops::Deref;

/// The contents of a site: at most seven bytes, and the kind of the site. All of that is one number, so the processor compares two codes
/// with one instruction. In memory, the bytes come first, in their order, and then one byte with the kind and the length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code(u64);

/// The offset of the byte with the kind and the length.
const TAG: usize = 7;
const KIND_SHIFT: u32 = 3;

impl Code {
    /// The code without bytes.
    pub const NONE: Code = Code(0);

    /// The code with these bytes, at most seven, at a site of this kind.
    #[must_use]
    #[inline]
    pub const fn new(kind: u8, bytes: &[u8]) -> Code {
        let mut all = [0; 8];
        let mut at = 0;
        while at < bytes.len() && at < TAG {
            all[at] = bytes[at];
            at += 1;
        }
        all[TAG] = kind << KIND_SHIFT | at as u8;
        Code(u64::from_ne_bytes(all))
    }

    /// The number of the site's kind.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub const fn kind(self) -> u8 {
        (self.word() >> (TAG * 8)) as u8 >> KIND_SHIFT
    }

    /// The number of bytes.
    #[must_use]
    #[inline]
    #[allow(clippy::len_without_is_empty)] // A slice (`bytes`) has `is_empty`.
    pub const fn len(self) -> usize {
        (self.word() >> (TAG * 8)) as usize & 7
    }

    /// The same bytes at a site of another kind.
    pub(crate) const fn of_kind(self, kind: u8) -> Code {
        Code::of_parts(kind, self.len(), self.word() << 8 >> 8)
    }

    /// The code with `len` bytes. The number `bytes` holds them, with the first byte lowest. The caller ensures that no other bits of
    /// `bytes` are set.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub const fn of_parts(kind: u8, len: usize, bytes: u64) -> Code {
        Code::of_word(bytes | ((kind << KIND_SHIFT | len as u8) as u64) << (TAG * 8))
    }

    /// The code for which [`word`](Self::word) returns this number.
    #[inline]
    pub(crate) const fn of_word(word: u64) -> Code {
        Code(word.to_le())
    }

    /// The eight bytes of this value, as they are in memory. Bytes after the first [`len`](Self::len) do not belong to the instruction.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub const fn eight(self) -> [u8; 8] {
        self.0.to_ne_bytes()
    }

    /// The bytes, the kind and the length as one number, with the first byte lowest.
    #[inline]
    pub(crate) const fn word(self) -> u64 {
        u64::from_le(self.0)
    }
}

impl Deref for Code {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `self.0` is a `u64`: eight initialised bytes, which live as long as `self`.
        let all: &[u8; 8] = unsafe { &*(&raw const self.0).cast() };
        all.get(..self.len()).unwrap_or_default()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x?}", &**self)
    }
}

/// A demand of a step on the writer of its bytes. Each demand includes those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// Nothing: the bytes can be written one by one.
    Nothing,
    /// One store must write the bytes.
    SingleStore,
    /// While the writer works, no thread may execute the site or see only some of the new bytes. So either the process has a single thread, or
    /// the writer replaces the old pages by new ones.
    Unexecuted,
}

/// The bytes that a step writes at a site: a run of the site's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepBytes {
    /// The offset of the first of these bytes in the site.
    pub offset: u8,
    /// The number of `bytes` to write.
    pub len: u8,
    /// The bytes. Only the first `len` have a meaning.
    pub bytes: [u8; 8],
    /// The demand of the step on the writer.
    pub demand: Demand,
}

impl StepBytes {
    /// `len` bytes of `code` from `offset` on.
    #[inline]
    pub(crate) const fn of(code: Code, offset: u8, len: u8) -> StepBytes {
        let bytes = (code.word() >> (offset * 8)).to_le_bytes();
        StepBytes { offset, len, bytes, demand: Demand::Nothing }
    }

    /// A single byte at `offset`.
    #[inline]
    pub(crate) const fn byte(offset: u8, byte: u8) -> StepBytes {
        StepBytes { offset, len: 1, bytes: [byte, 0, 0, 0, 0, 0, 0, 0], demand: Demand::Nothing }
    }

    /// The bytes of `new` from the first to the last one that is different in `old`. `None` if the codes are equal.
    #[inline]
    pub(crate) const fn difference(old: Code, new: Code) -> Option<StepBytes> {
        let differs = old.word() ^ new.word();
        if differs == 0 {
            return None;
        }
        let (first, end) = (differs.trailing_zeros() / 8, 8 - differs.leading_zeros() / 8);
        Some(StepBytes::of(new, first as u8, (end - first) as u8))
    }

    /// All bytes of `code`, for one store.
    pub(crate) const fn all(code: Code) -> StepBytes {
        StepBytes { demand: Demand::SingleStore, ..StepBytes::of(code, 0, code.len() as u8) }
    }

    /// The bytes to write.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&self.bytes)
    }
}
