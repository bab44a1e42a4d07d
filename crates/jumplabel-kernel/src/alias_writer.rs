//! Writes through the kernel's alias, a second mapping that is writable: the text itself stays read-only.
//!
//! Before and after a write, the bytes at the alias are compared with those at the address. They differ if the kernel's `map` gives memory that is
//! not the text, for example an earlier page, because the CPU still uses the old translation. Such a write would change other code and leave the site
//! as it is. So the flip is refused as [`NO_EFFECT`](Refusal::NO_EFFECT), and nothing is written. If the wrong page happens to hold the same bytes,
//! only the comparison after the write finds out. Then that page has been changed; the refusal is the same.

use jumplabel::Refusal;
use jumplabel::platform::{Write, Writer};

use crate::Machine;

pub(crate) struct AliasWriter<'a, M: Machine> {
    pub(crate) machine: &'a M,
    /// Makes all CPUs serialise, once the writes of a step are done.
    pub(crate) serialise: &'a dyn Fn() -> Result<(), Refusal>,
    /// True if a CPU did not serialise in time.
    pub(crate) unsynced: bool,
}

/// The smallest page size of all kernels, in bytes. A larger page is treated as several of these.
const PAGE: usize = 4096;

/// The number of compared words, and their size in bytes together. All of them lie in one page if they begin at a multiple of that size.
const WORDS: usize = 4;
const COMPARED: usize = WORDS * size_of::<usize>();

/// Refuses if the memory at `alias` is not the text at `address`. It compares a few words around these addresses, so it may fail to notice.
///
/// # Safety
/// The pages of both addresses can be read.
#[inline(never)]
unsafe fn demand_same(address: usize, alias: usize) -> Result<(), Refusal> {
    let words = |place: usize| (place & !(COMPARED - 1)) as *const usize;
    let (text, memory) = (words(address), words(alias));
    // This compares word by word. A copy of all words would be on the stack, at the deepest point of each flip.
    // SAFETY: all words lie in the page of `address`, or in that of `alias`, which the caller says can be read.
    let is_same = (0..WORDS).all(|at| unsafe { text.add(at).read_volatile() == memory.add(at).read_volatile() });
    if is_same { Ok(()) } else { Err(Refusal::NO_EFFECT) }
}

impl<M: Machine> AliasWriter<'_, M> {
    /// Maps the page of `address`, and refuses if the kernel's `map` gives another page.
    fn map(&self, address: usize) -> Result<usize, Refusal> {
        let alias = self.machine.map(address)?;
        // SAFETY: the text of a site can be read, and the alias is that of its page.
        unsafe { demand_same(address, alias) }.inspect_err(|_| self.machine.unmap(alias))?;
        Ok(alias)
    }

    /// Writes bytes of one page.
    ///
    /// # Safety
    /// `alias` is the alias of a site's bytes at `address`.
    unsafe fn part(&self, address: usize, alias: usize, write: Write) -> Result<(), Refusal> {
        // SAFETY: the caller says that the bytes are a site's. The alias has the same place in its page, and in its line of the cache.
        unsafe { write.store() };
        self.machine.clean(address, alias, write.bytes().len());
        // SAFETY: the text of a site can be read, and the alias is that of its page.
        let result = unsafe { demand_same(address, alias) };
        self.machine.unmap(alias);
        result
    }

    /// Carries out a write that lies on two pages. Only x86 has such sites, and no single store writes to two pages. Both pages are mapped before the
    /// first part is written: if the second part were refused after that, nobody would undo the first part.
    ///
    /// # Safety
    /// The conditions of [`part`](Self::part). The first `here` bytes are on the first page.
    #[cold]
    #[inline(never)]
    unsafe fn on_two_pages(&self, write: &Write, here: usize, alias: usize) -> Result<(), Refusal> {
        let second = write.address + here;
        let behind = self.map(second).inspect_err(|_| self.machine.unmap(alias))?;
        let (bytes, rest) = write.bytes().split_at(here);
        // SAFETY: these are the aliases of the two parts.
        unsafe {
            let first = self.part(write.address, alias, Write::new(alias, bytes, false));
            self.part(second, behind, Write::new(behind, rest, false)).and(first)
        }
    }
}

impl<M: Machine> Writer for AliasWriter<'_, M> {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for (at, write) in writes.iter().enumerate() {
            let alias = self.map(write.address).map_err(|refusal| (at, refusal))?;
            let here = PAGE - write.address % PAGE;
            if here < write.bytes().len() {
                // SAFETY: each write is of a site's bytes, and `alias` is their alias.
                unsafe { self.on_two_pages(write, here, alias) }.map_err(|refusal| (at, refusal))?;
                continue;
            }
            let mut there = *write;
            there.address = alias;
            // SAFETY: `alias` is the alias of the same bytes of a site.
            unsafe { self.part(write.address, alias, there) }.map_err(|refusal| (at, refusal))?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        let synced = (self.serialise)();
        self.unsynced |= synced.is_err();
        synced
    }
}
