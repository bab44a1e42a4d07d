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

/// Bytes to be written at an address.
#[derive(Clone, Copy)]
pub struct Write {
    /// The address of the first byte.
    pub address: usize,
    /// The bytes, in the order of memory: up to 15, and the tag. They are kept in words because a block of writes is filled with copies of
    /// one write, and the compiler would copy single bytes one by one.
    words: [u64; 2],
}

/// The offset of the tag. The tag is the length and, in the highest bit, whether one store must write the bytes.
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
    /// A write without bytes.
    pub(crate) const NONE: Write = Write { address: 0, words: [0; 2] };

    /// A write of at most 15 bytes. If `single_store` is true, the bytes are a word that one store must write, so that no thread sees only a part
    /// of it. Such a word is aligned or, on x86, lies within eight aligned bytes.
    #[must_use]
    pub fn new(address: usize, bytes: &[u8], single_store: bool) -> Write {
        let mut write = Write { address, ..Write::NONE };
        // SAFETY: two words are 16 bytes.
        let all: &mut [u8; 16] = unsafe { &mut *(&raw mut write.words).cast() };
        all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        all[TAG] = bytes.len().min(TAG) as u8 | if single_store { SINGLE_STORE } else { 0 };
        write
    }

    /// A write of the first `len` of these eight bytes. Each site needs such a write, so this function has no loop.
    #[inline]
    pub(crate) fn short(address: usize, bytes: [u8; 8], len: u8, single_store: bool) -> Write {
        let tag = u64::from_ne_bytes([0, 0, 0, 0, 0, 0, 0, len | if single_store { SINGLE_STORE } else { 0 }]);
        Write { address, words: [u64::from_ne_bytes(bytes), tag] }
    }

    /// The same write at an address that is higher by `address`.
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

    /// Whether one store must write the bytes.
    #[must_use]
    #[inline]
    pub fn is_single_store(&self) -> bool {
        self.tag() & SINGLE_STORE != 0
    }

    /// Stores the bytes. Most writes have one byte.
    ///
    /// # Safety
    /// The bytes at the address are writable. A word for a single store is aligned or lies as [`new`](Self::new) demands.
    #[inline]
    pub unsafe fn store(&self) {
        let [first, ..] = self.words[0].to_ne_bytes();
        let bytes = if self.tag() == 1 { &[first] } else { self.bytes() };
        // SAFETY: the caller says that the bytes are writable, and that a word is aligned or lies as `new` demands.
        unsafe { crate::arch::store(self.address, bytes, self.is_single_store()) };
    }
}

/// Pages that must be opened together: one page with sites that change, or several pages if a site lies across two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The address of the first site in these pages.
    pub first: usize,
    /// The address after the last site in these pages.
    pub end: usize,
}

/// When other threads see a flip.
///
/// After a flip without core sync, a change of the same key that needs no flip reports `Eventual`, too, until a core sync has succeeded. So each
/// change that takes the lock tries a core sync. An `inc` that does not need the lock tries a core sync only if the last one succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// At once: every check that starts after the flip returned takes the new arm.
    #[default]
    Immediate,
    /// Soon: the system refused core sync, so a processor may first finish the instructions that it has already fetched.
    Eventual,
}

/// Problems in a flip that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// The system refused to restore the protection of a page (a seccomp filter installed in mid-flip, a limit on mappings).
    pub left_writable: bool,
}

/// The report of [`Platform::open`](super::Platform::open).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// When other threads see the writes.
    pub visibility: Visibility,
    /// Problems, although the writer has succeeded.
    pub warnings: Warnings,
}

/// The reason why a writer did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The writer refused, and all sites are as before. If core sync was refused on the way back, some sites stay in a state between two steps.
    /// In that state they do what they did before.
    Refused(Refusal),
    /// Core sync was refused between two steps. The sites are in the states that `Refused` describes.
    Unsynced(Refusal),
    /// The writer refused, and could not undo its own writes.
    Stuck {
        /// The first site that was not restored.
        address: usize,
        /// The reason why the writer refused.
        refusal: Refusal,
    },
}

/// If at most this many pages lie between two sites, the writer opens them together with the sites. Each such page costs 65 ns. That is less
/// than another pair of system calls, each of which interrupts the other processors.
pub const SPAN_GAP_PAGES: usize = 16;

/// The facts about a transaction on which the choice of a writer depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The number of sites to change.
    pub sites: usize,
    /// The number of pages on which these sites begin.
    pub pages: usize,
    /// The number of groups of sites with at most [`SPAN_GAP_PAGES`] pages between neighbours.
    pub spans: usize,
    /// The number of steps. A core sync follows each of them.
    pub steps: u32,
    /// Whether one store must write the bytes of any write of several bytes ([`Write::is_single_store`](Write::is_single_store)).
    pub single_store: bool,
    /// Whether only a writer that never writes to running code may be used. There are two reasons: core sync was refused between two steps, and
    /// these steps were then taken back; or whole instructions change while other threads run.
    pub unsynced: bool,
}

/// The writers to try, in order. If the list is empty, flips fail with [`Error::NoWriter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterList {
    kinds: [Option<WriterKind>; 3],
    unknown: bool,
}

impl WriterList {
    /// An empty list.
    pub(crate) const NONE: WriterList = WriterList { kinds: [None; 3], unknown: false };

    /// A list without writers, because someone picked a writer by an unknown name. Flips fail with [`Error::UnknownWriter`].
    #[must_use]
    pub const fn unknown() -> WriterList {
        WriterList { kinds: [None; 3], unknown: true }
    }

    /// The error of a flip for which this list is empty.
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
    /// Carries out `writes`, in order, and does the necessary cache maintenance. If a write is refused, the error has its place in `writes`, and
    /// the reason. The writes before that place have been carried out. (If a part of the refused write was written, it counts as carried out, so
    /// that it will be undone. In this case the error has the place of the next write.)
    ///
    /// # Safety
    /// `writes` lie in the extents for which the writer was opened.
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)>;

    /// Makes every processor that runs this code serialise. After that, no processor executes an instruction that it fetched before.
    ///
    /// # Errors
    /// The system refuses. Then another thread may still run instructions that it fetched before.
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
        // SAFETY: the bytes belong to the test.
        unsafe { Write::new((&raw mut place) as usize + 1, &[1, 2], false).store() };
        // SAFETY: the bytes belong to the test. The read is volatile because the compiler does not see the store.
        assert_eq!(unsafe { (&raw const place).read_volatile() }, [0, 1, 2, 0]);
    }
}
