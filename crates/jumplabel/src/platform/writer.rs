//! How code is written, between the engine and a platform.
//!
//! ```text
//!   SiteChange    one site, and its bytes before and after               patch/site_change.rs
//!      │ steps    each takes some StepBytes of it                        arch, patch/hand_over.rs
//!      ▼
//!   Write         an address and bytes, without their meaning            this file
//!      │          Extent: the pages that must be open for them
//!      ▼
//!   Writer        opened for extents by Platform::open, for a Body of work; stores, and does core sync
//!      │          WriterKind: which one; WriterList: which to try, in order, for a transaction of this Summary
//!      ▼
//!   pwrite, mprotect and stores, mremap: a system's own                  platform/linux/write/procmem.rs, mprotect.rs, remap.rs
//!      │
//!      ▼
//!   WriteReport   when other threads see it, and what went wrong; or a Failure
//! ```

use crate::error::{Error, Refusal, WriterKind};

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
    /// Nothing, nowhere.
    pub(crate) const NONE: Write = Write { address: 0, words: [0; 2] };

    /// At most 15 bytes. `single_store`: they are a word of which no thread may see a part. It is aligned, or, on x86, in eight aligned
    /// bytes.
    #[must_use]
    pub fn new(address: usize, bytes: &[u8], single_store: bool) -> Write {
        let mut write = Write { address, ..Write::NONE };
        // SAFETY: two words are as many bytes.
        let all: &mut [u8; 16] = unsafe { &mut *(&raw mut write.words).cast() };
        all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        all[TAG] = bytes.len().min(TAG) as u8 | if single_store { SINGLE_STORE } else { 0 };
        write
    }

    /// The first `len` of eight bytes: without a loop, because one is made for each site.
    #[inline]
    pub(crate) fn short(address: usize, bytes: [u8; 8], len: u8, single_store: bool) -> Write {
        let tag = u64::from_ne_bytes([0, 0, 0, 0, 0, 0, 0, len | if single_store { SINGLE_STORE } else { 0 }]);
        Write { address, words: [u64::from_ne_bytes(bytes), tag] }
    }

    /// The same bytes, `address` bytes higher.
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
        all.get(..usize::from(self.tag() & !SINGLE_STORE)).unwrap_or(all)
    }

    /// Whether they must be one store.
    #[must_use]
    #[inline]
    pub fn is_single_store(&self) -> bool {
        self.tag() & SINGLE_STORE != 0
    }

    /// Stores the bytes. Most writes are of one byte.
    ///
    /// # Safety
    /// They are writable, and a word for a single store lies as [`new`](Self::new) says.
    #[inline]
    pub unsafe fn store(&self) {
        let [first, ..] = self.words[0].to_ne_bytes();
        let bytes = if self.tag() == 1 { &[first] } else { self.bytes() };
        // SAFETY: the caller says that the bytes are writable, and that a word lies as `new` says.
        unsafe { crate::arch::store(self.address, bytes, self.is_single_store()) };
    }
}

/// Pages that must be opened together: one with sites that change, or several, if a site lies across two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Address of the first site in it.
    pub first: usize,
    /// After the last site in it.
    pub end: usize,
}

/// When other threads see a flip.
///
/// A change that needed no flip reports what the last flip of the key reported, until a core sync has succeeded. Each change that
/// takes the lock tries one. An `inc` without the lock tries one only if the last one succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// At once: every check that starts after the flip returned takes the new arm.
    #[default]
    Immediate,
    /// Soon: the system refused core sync, so a processor may finish what it has already fetched.
    Eventual,
}

/// What went wrong in a flip that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// The system refused to give a page its protection back (a seccomp filter installed in mid-flip, a limit on mappings).
    pub left_writable: bool,
}

/// What [`Platform::open`](super::Platform::open) reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// When other threads see it.
    pub visibility: Visibility,
    /// What went wrong without being a failure.
    pub warnings: Warnings,
}

/// Why a writer did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It refused, and all sites are as before. If core sync was refused on the way back, some sites are in a state in between
    /// that does the same.
    Refused(Refusal),
    /// Core sync was refused between two steps. The sites are as after `Refused`.
    Unsynced(Refusal),
    /// It refused, and could not undo what it had written.
    Stuck {
        /// The first site that was not restored.
        address: usize,
        /// What it met.
        refusal: Refusal,
    },
}

/// How many pages between two sites may be opened with them: each costs 65 ns, and that is less than another pair of system calls,
/// each of which interrupts the other processors.
pub const SPAN_GAP_PAGES: usize = 16;

/// The facts by which a writer is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Sites to change.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Groups of sites with no more than [`SPAN_GAP_PAGES`] between neighbours.
    pub spans: usize,
    /// The most steps that any site takes, with a core sync after each.
    pub steps: u32,
    /// Some writes of several bytes must be one store ([`Write::is_single_store`](Write::is_single_store)).
    pub single_store: bool,
    /// Only a writer that never writes to running code will do: core sync was refused between two steps, and the steps were taken back;
    /// or whole instructions change, and other threads run.
    pub unsynced: bool,
}

/// Which writers to try, in order. If there is none, flips fail with [`Error::NoWriter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterList {
    kinds: [Option<WriterKind>; 3],
    unknown: bool,
}

impl WriterList {
    /// None, because the name that picks the writer is unknown. Flips fail with [`Error::UnknownWriter`].
    #[must_use]
    pub const fn unknown() -> WriterList {
        WriterList { kinds: [None; 3], unknown: true }
    }

    /// Why there is none.
    pub(crate) const fn none(&self) -> Error {
        if self.unknown { Error::UnknownWriter } else { Error::NoWriter }
    }

    /// At most three.
    #[must_use]
    pub fn of(kinds: &[WriterKind]) -> WriterList {
        let mut writers = WriterList::default();
        writers.kinds.iter_mut().zip(kinds).for_each(|(place, kind)| *place = Some(*kind));
        writers
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = WriterKind> + use<> {
        let writers = *self;
        (0..).map_while(move |at| writers.number(at))
    }

    #[inline(never)] // So that what is done for each of them is in the program once.
    fn number(&self, at: usize) -> Option<WriterKind> {
        *self.kinds.get(at)?
    }
}

/// Writes the bytes of one transaction.
pub trait Writer {
    /// Carries `writes` out, in order, and does what caches need. On a refusal: which one, and why; those before it have been carried
    /// out. (If a part of the one that was refused is there, it counts as carried out: the next one is named, and this one is undone.)
    ///
    /// # Safety
    /// `writes` lie in the extents that the writer was opened for.
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)>;

    /// Makes every processor that runs this code serialise: nothing fetched before is executed after.
    ///
    /// # Errors
    /// The system refuses: another thread may go on running what it fetched before.
    fn sync(&mut self) -> Result<(), Refusal>;
}

/// The work that is done with a [`Writer`] while it is open.
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
        // SAFETY: bytes of the test's.
        unsafe { Write::new((&raw mut place) as usize + 1, &[1, 2], false).store() };
        // SAFETY: the same bytes. The compiler does not see the store.
        assert_eq!(unsafe { (&raw const place).read_volatile() }, [0, 1, 2, 0]);
    }
}
