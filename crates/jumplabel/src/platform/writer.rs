//! The types by which the patcher tells a platform what to write.
//!
//! ```text
//!   SiteChange    one site, and its bytes before and after               patch/site_change.rs
//!      │          each step of the change writes some bytes: StepBytes   arch, patch/hand_over.rs
//!      ▼
//!   Write         an address and bytes, but not what they mean           this file
//!      │          Extent: the pages that must be open for writes
//!      ▼
//!   Writer        stores the bytes, and does core sync; Platform::open opens it for extents, while a Body of work runs
//!      │          WriterKind: its name; WriterList: the writers to try, in order, for a transaction with this Summary
//!      ▼
//!   the system    pwrite; mprotect and stores; or mremap                 platform/linux/write/procmem.rs, mprotect.rs, remap.rs
//!      │
//!      ▼
//!   WriteReport   when other threads see the change, and what went wrong; or a Failure
//! ```

use crate::error::{Error, Refusal, WriterKind};

/// Bytes to write, and the address to write them to.
#[derive(Clone, Copy)]
pub struct Write {
    /// The address of the first byte.
    pub address: usize,
    /// Up to 15 bytes, in the order of memory, and then the tag. The field consists of words, because the library fills a block of writes with copies
    /// of one write, and the compiler would copy an array of bytes byte by byte.
    words: [u64; 2],
}

/// The offset of the tag in the 16 bytes of a [`Write`]. The tag is the number of bytes to write and, in the highest bit, whether a single store must
/// write them.
const TAG: usize = 15;
const SINGLE_STORE: u8 = 0x80;

impl PartialEq for Write {
    fn eq(&self, other: &Write) -> bool {
        let parts = |write: &Write| (write.address, write.is_single_store());
        parts(self) == parts(other) && self.bytes() == other.bytes()
    }
}

impl Eq for Write {}

impl core::fmt::Debug for Write {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let single_store = if self.is_single_store() { ", a single store" } else { "" };
        write!(f, "Write({:#x}: {:02x?}{single_store})", self.address, self.bytes())
    }
}

impl Write {
    /// A write of no bytes.
    pub(crate) const NONE: Write = Write { address: 0, words: [0; 2] };

    /// A write of at most 15 bytes; the rest of `bytes` is ignored. If `single_store` is true, the bytes are a word that a single store must write,
    /// so that no thread sees only a part of the word. Such a word is aligned or, on x86, lies within eight aligned bytes.
    #[must_use]
    pub fn new(address: usize, bytes: &[u8], single_store: bool) -> Write {
        let mut write = Write { address, ..Write::NONE };
        // SAFETY: two words are 16 bytes.
        let all: &mut [u8; 16] = unsafe { &mut *(&raw mut write.words).cast() };
        all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        all[TAG] = bytes.len().min(TAG) as u8 | if single_store { SINGLE_STORE } else { 0 };
        write
    }

    /// A write of the first `len` of these eight bytes. This function has no loop, because a flip calls it for many sites.
    #[inline]
    pub(crate) fn short(address: usize, bytes: [u8; 8], len: u8, single_store: bool) -> Write {
        let tag = u64::from_ne_bytes([0, 0, 0, 0, 0, 0, 0, len | if single_store { SINGLE_STORE } else { 0 }]);
        Write { address, words: [u64::from_ne_bytes(bytes), tag] }
    }

    /// The same bytes, to be written to an address that is higher by `address`.
    #[inline]
    pub(crate) fn at(self, address: usize) -> Write {
        Write { address: self.address.wrapping_add(address), ..self }
    }

    #[inline]
    fn tag(&self) -> u8 {
        self.words[1].to_ne_bytes()[7]
    }

    /// The bytes to write.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: two words are 16 bytes.
        let all: &[u8; 16] = unsafe { &*(&raw const self.words).cast() };
        all.get(..usize::from(self.tag() & !SINGLE_STORE)).unwrap_or(all)
    }

    /// Whether a single store must write all the bytes.
    #[must_use]
    #[inline]
    pub fn is_single_store(&self) -> bool {
        self.tag() & SINGLE_STORE != 0
    }

    /// Stores the bytes to memory.
    ///
    /// # Safety
    /// The bytes at the address are writable. If a single store must write them, they are aligned as [`new`](Self::new) demands.
    #[inline]
    pub unsafe fn store(&self) {
        let [first, ..] = self.words[0].to_ne_bytes();
        let bytes = if self.tag() == 1 { &[first] } else { self.bytes() };
        // SAFETY: the caller guarantees that the bytes are writable, and that a word for a single store is aligned as `new` demands.
        unsafe { crate::arch::store(self.address, bytes, self.is_single_store()) };
    }
}

/// Sites whose pages must be made writable together: all changing sites of one page. If a site lies across two pages, the extent contains the
/// changing sites of both pages, so it can cover a longer row of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The address of the first of these sites.
    pub first: usize,
    /// The address after the last byte of the last of these sites.
    pub end: usize,
}

/// The moment at which other threads see a flip.
///
/// After a flip without core sync, later changes of the same key also report `Eventual`, even if they need no flip, until a core sync succeeds. Each
/// change that takes the lock tries a core sync again. An `inc` that does not need the lock does so only if the last core sync of the process
/// succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// At once: every check that starts after the return of the flip takes the new arm.
    #[default]
    Immediate,
    /// Soon: the system refused core sync, so a processor may first finish the instructions that it has already fetched.
    Eventual,
}

/// Problems in a flip that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// Whether a page has stayed writable because the system refused to restore its protection. Reasons are a seccomp filter that was installed in
    /// mid-flip, and the limit on mappings.
    pub left_writable: bool,
}

/// The report of [`Platform::open`](super::Platform::open).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// When other threads see the writes.
    pub visibility: Visibility,
    /// The problems that the writer had although it succeeded.
    pub warnings: Warnings,
}

/// The reason why a writer did not succeed, and the state in which it left the sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The writer failed, and has undone its writes. All sites do what they did before. If core sync was refused during the undo, some sites stay in
    /// a state between two steps, which has the old meaning.
    Refused(Refusal),
    /// Core sync was refused between two steps, and the writer has undone its writes. The sites are as after `Refused`.
    Unsynced(Refusal),
    /// The writer failed, and could not undo its writes.
    Stuck {
        /// The first site that was not restored.
        address: usize,
        /// The reason of the failure.
        refusal: Refusal,
    },
}

/// The largest number of pages between two neighbouring sites that a writer opens together. The writer then also opens the pages between them, which
/// costs 65 ns for each page. To open the second site with another pair of system calls would cost more, because each of these calls interrupts the
/// other processors.
pub const SPAN_GAP_PAGES: usize = 16;

/// What a platform must know of a transaction to choose a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The number of sites to change.
    pub sites: usize,
    /// The number of pages on which at least one of these sites begins.
    pub pages: usize,
    /// The number of spans. A span is a group of sites with at most [`SPAN_GAP_PAGES`] pages between neighbours.
    pub spans: usize,
    /// The number of steps. A core sync follows each of them.
    pub steps: u32,
    /// Whether the transaction has a write of several bytes that a single store must write ([`Write::is_single_store`](Write::is_single_store)).
    pub single_store: bool,
    /// Whether only a writer that never writes to running code may be used. There are two reasons for that. Either core sync was refused between two
    /// steps, and the steps have been undone. Or other threads run, and the sites must not be executed while they change.
    pub unsynced: bool,
}

/// A list of the writers to try, in order. If the list is empty, the flip fails with [`Error::NoWriter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterList {
    kinds: [Option<WriterKind>; 3],
    unknown: bool,
}

impl WriterList {
    /// An empty list.
    pub(crate) const NONE: WriterList = WriterList { kinds: [None; 3], unknown: false };

    /// An empty list that means: someone has picked a writer by an unknown name. The flip then fails with [`Error::UnknownWriter`].
    #[must_use]
    pub const fn unknown() -> WriterList {
        WriterList { kinds: [None; 3], unknown: true }
    }

    /// The error of a flip that tries no writer, because this list is empty.
    pub(crate) const fn none(&self) -> Error {
        if self.unknown { Error::UnknownWriter } else { Error::NoWriter }
    }

    /// A list of these writers, three at most.
    #[must_use]
    pub fn of(kinds: &[WriterKind]) -> WriterList {
        let mut writers = WriterList::default();
        writers.kinds.iter_mut().zip(kinds).for_each(|(place, kind)| *place = Some(*kind));
        writers
    }

    /// All writers in the list.
    pub fn iter(&self) -> impl Iterator<Item = WriterKind> + use<> {
        let writers = *self;
        (0..).map_while(move |at| writers.nth(at))
    }

    /// Writer number `at`.
    #[inline(never)] // Otherwise the compiler would unroll the loops over a list.
    pub(crate) fn nth(&self, at: usize) -> Option<WriterKind> {
        *self.kinds.get(at)?
    }
}

/// Writes the bytes of one transaction.
pub trait Writer {
    /// Carries out `writes`, in order, and does the necessary cache maintenance. If a write is refused, the error contains the reason, and the number
    /// of writes that must be undone: those before the refused one. If the system has carried out a part of the refused write, that number includes
    /// the refused write.
    ///
    /// # Safety
    /// `writes` are to sites in the extents for which the writer was opened.
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)>;

    /// Does a core sync: makes every processor that runs this code serialise. After that, no processor executes an instruction that it fetched
    /// before.
    ///
    /// # Errors
    /// The reason why the system refuses. Another thread may then still execute instructions that it fetched before.
    fn sync(&mut self) -> Result<(), Refusal>;
}

/// The work that [`Platform::open`](super::Platform::open) does with the open [`Writer`].
pub type Body<'a> = dyn FnMut(&mut dyn Writer) -> Result<(), Failure> + 'a;

#[cfg(test)]
mod tests {
    use super::Write;

    #[test]
    fn what_is_given_is_read() {
        let all: [u8; 15] = core::array::from_fn(|at| at as u8 + 1);
        for len in 0..=all.len() {
            for single_store in [false, true] {
                let write = Write::new(7, &all[..len], single_store);
                assert_eq!((write.address, write.bytes(), write.is_single_store()), (7, &all[..len], single_store));
                assert_eq!(write.at(3).bytes(), write.bytes());
                let short = Write::short(7, [1, 2, 3, 4, 5, 6, 7, 8], len.min(8) as u8, single_store);
                assert_eq!((short.bytes(), short.is_single_store()), (&all[..len.min(8)], single_store));
            }
        }
        assert_eq!(Write::new(7, &[9; 20], false).bytes(), [9; 15]);
        let mut place = [0_u8; 4];
        // SAFETY: the bytes belong to the test.
        unsafe { Write::new((&raw mut place) as usize + 1, &[1, 2], false).store() };
        // SAFETY: the bytes belong to the test. The read is volatile, because the compiler does not see that `store` writes them.
        assert_eq!(unsafe { (&raw const place).read_volatile() }, [0, 1, 2, 0]);
    }
}
