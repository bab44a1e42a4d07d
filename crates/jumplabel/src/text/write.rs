//! What writers get: addresses and bytes, without their meaning.

/// Bytes to be written at an address.
#[derive(Clone, Copy)]
pub struct Write {
    /// Where.
    pub address: usize,
    /// What, in the order of memory: up to 15 bytes, and the tag. Words, because a block of writes is made of copies of one, and the
    /// compiler would copy bytes one by one.
    words: [u64; 2],
}

/// The place of the tag: the length, and, in the highest bit, whether one store must write the bytes.
const TAG: usize = 15;
const WHOLE: u8 = 0x80;

impl PartialEq for Write {
    fn eq(&self, other: &Write) -> bool {
        let parts = |write: &Write| (write.address, write.is_whole());
        parts(self) == parts(other) && self.bytes() == other.bytes()
    }
}

impl Eq for Write {}

impl core::fmt::Debug for Write {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let whole = if self.is_whole() { ", whole" } else { "" };
        write!(f, "Write({:#x}: {:02x?}{whole})", self.address, self.bytes())
    }
}

impl Write {
    /// Nothing, nowhere.
    pub(crate) const NONE: Write = Write { address: 0, words: [0; 2] };

    /// At most 15 bytes. `whole`: they are a word of which no thread may see a part. It is aligned, or, on x86, in eight aligned bytes.
    #[must_use]
    pub fn new(address: usize, bytes: &[u8], whole: bool) -> Write {
        let mut write = Write { address, ..Write::NONE };
        // SAFETY: two words are as many bytes.
        let all: &mut [u8; 16] = unsafe { &mut *(&raw mut write.words).cast() };
        all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        all[TAG] = bytes.len().min(TAG) as u8 | if whole { WHOLE } else { 0 };
        write
    }

    /// The first `len` of eight bytes: without a loop, because one is made for each site.
    #[inline]
    pub(crate) fn short(address: usize, bytes: [u8; 8], len: u8, whole: bool) -> Write {
        let tag = u64::from_ne_bytes([0, 0, 0, 0, 0, 0, 0, len | if whole { WHOLE } else { 0 }]);
        Write { address, words: [u64::from_ne_bytes(bytes), tag] }
    }

    /// The same bytes, so many further on.
    #[inline]
    pub(crate) fn at(self, address: usize) -> Write {
        Write { address: self.address.wrapping_add(address), ..self }
    }

    #[inline]
    fn tag(&self) -> u8 {
        self.words[1].to_ne_bytes()[7]
    }

    /// The bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: two words are as many bytes.
        let all: &[u8; 16] = unsafe { &*(&raw const self.words).cast() };
        all.get(..usize::from(self.tag() & !WHOLE)).unwrap_or(all)
    }

    /// Whether they must be one store.
    #[must_use]
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.tag() & WHOLE != 0
    }

    /// Stores the bytes. Most writes are of one byte.
    ///
    /// # Safety
    /// They are writable, and a whole word lies as [`new`](Self::new) says.
    #[inline]
    pub unsafe fn store(&self) {
        let [first, ..] = self.words[0].to_ne_bytes();
        let bytes = if self.tag() == 1 { &[first] } else { self.bytes() };
        // SAFETY: by the contract.
        unsafe { crate::arch::store(self.address, bytes, self.is_whole()) };
    }
}

/// Pages that must be opened together: one with sites that change, or several, if a site lies across two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Address of the first site in it.
    pub first: usize,
    /// Behind the last site in it.
    pub end: usize,
}

#[cfg(test)]
mod tests {
    use super::Write;

    #[test]
    fn what_is_given_is_read() {
        let all: [u8; 15] = core::array::from_fn(|at| at as u8 + 1);
        for len in 0..=all.len() {
            for whole in [false, true] {
                let write = Write::new(7, &all[..len], whole);
                assert_eq!((write.address, write.bytes(), write.is_whole()), (7, &all[..len], whole));
                assert_eq!(write.at(3).bytes(), write.bytes());
                let short = Write::short(7, [1, 2, 3, 4, 5, 6, 7, 8], len.min(8) as u8, whole);
                assert_eq!((short.bytes(), short.is_whole()), (&all[..len.min(8)], whole));
            }
        }
        assert_eq!(Write::new(7, &[9; 20], false).bytes(), [9; 15]);
        let mut place = [0_u8; 4];
        // SAFETY: bytes of the test's.
        unsafe { Write::new((&raw mut place) as usize + 1, &[1, 2], false).store() };
        // SAFETY: as above. The compiler does not see the store.
        assert_eq!(unsafe { (&raw const place).read_volatile() }, [0, 1, 2, 0]);
    }
}
