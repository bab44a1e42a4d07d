//! What writers get: addresses and bytes, without their meaning.

/// Bytes to be written at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Where.
    pub address: usize,
    /// What: `len` of them count.
    pub(crate) bytes: [u8; 15],
    /// The length, and, in the highest bit, whether one store must write them.
    pub(crate) len: u8,
}

const WHOLE: u8 = 0x80;

impl Write {
    /// Nothing, nowhere.
    pub(crate) const NONE: Write = Write { address: 0, bytes: [0; 15], len: 0 };

    /// At most 15 bytes. `whole`: they are a word of which no thread may see a part. It is aligned, or, on x86, in eight aligned bytes.
    #[must_use]
    #[inline]
    pub fn new(address: usize, bytes: &[u8], whole: bool) -> Write {
        let mut write = Write { address, ..Write::NONE };
        write.bytes.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        write.len = bytes.len().min(15) as u8 | if whole { WHOLE } else { 0 };
        write
    }

    /// The first `len` of eight bytes: without a loop, because one is made for each site.
    #[inline]
    pub(crate) fn short(address: usize, bytes: [u8; 8], len: u8, whole: bool) -> Write {
        let [a, b, c, d, e, f, g, h] = bytes;
        let bytes = [a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0];
        Write { address, bytes, len: len | if whole { WHOLE } else { 0 } }
    }

    /// The bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len & !WHOLE)).unwrap_or(&self.bytes)
    }

    /// Whether they must be one store.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.len & WHOLE != 0
    }

    /// Stores the bytes. Most writes are of one byte.
    ///
    /// # Safety
    /// They are writable, and a whole word lies as [`new`](Self::new) says.
    #[inline]
    pub unsafe fn store(&self) {
        let [first, ..] = self.bytes;
        let bytes = if self.len == 1 { &[first] } else { self.bytes() };
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
