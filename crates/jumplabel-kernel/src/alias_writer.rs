//! The writer of a kernel. It writes through an *alias*: a second, writable mapping of the text, which the kernel's [`Machine::map`] gives. The text
//! itself stays read-only.
//!
//! Before and after a write, the writer compares the bytes at the alias with those at the address. They differ if `map` gives memory that is not the
//! text, for example the page of an earlier write, because the CPU still uses an old translation. A write there would change other code and leave the
//! site as it is. So the flip is refused as [`NO_EFFECT`](Refusal::NO_EFFECT), and nothing is written. If the wrong page happens to hold the same
//! bytes, only the comparison after the write finds the difference. By then the wrong page has been changed; the refusal is the same.

use jumplabel::Refusal;
use jumplabel::platform::{Write, Writer};

use crate::Machine;

pub(crate) struct AliasWriter<'a, M: Machine> {
    pub(crate) machine: &'a M,
    /// Makes all CPUs serialise. The writer calls it after the writes of each step.
    pub(crate) serialise: &'a dyn Fn() -> Result<(), Refusal>,
    /// Whether `serialise` has failed: some CPU did not serialise in time.
    pub(crate) unsynced: bool,
}

/// The smallest page size of all kernels, in bytes. A larger page is treated as several of these.
const PAGE: usize = 4096;

/// Whether a site can lie on two pages. On these instruction sets, a site is one aligned word, so the code for two pages is left out.
const CROSSES: bool = !cfg!(any(
    target_arch = "aarch64",
    target_arch = "arm",
    target_arch = "loongarch64",
    target_arch = "powerpc64",
    target_arch = "riscv32",
    target_arch = "riscv64"
));

/// The number of words that are compared. `COMPARED` is their size in bytes, all together. If the words begin at a multiple of that size, all of
/// them lie in one page.
const WORDS: usize = 4;
const COMPARED: usize = WORDS * size_of::<usize>();

/// Returns `NO_EFFECT` if the memory at `alias` differs from the text at `address`. It compares only a few words around each address, so two
/// different pages can pass.
///
/// # Safety
/// The pages of both addresses can be read.
#[inline(never)]
unsafe fn demand_same(address: usize, alias: usize) -> Result<(), Refusal> {
    let words = |place: usize| (place & !(COMPARED - 1)) as *const usize;
    let (text, memory) = (words(address), words(alias));
    // The words are compared one by one. Copies of all words would need room on the stack, at the deepest point of each flip.
    // SAFETY: all words lie in the page of `address` or in the page of `alias`. The caller guarantees that both can be read.
    let is_same = (0..WORDS).all(|at| unsafe { text.add(at).read_volatile() == memory.add(at).read_volatile() });
    if is_same { Ok(()) } else { Err(Refusal::NO_EFFECT) }
}

impl<M: Machine> AliasWriter<'_, M> {
    /// Returns the alias of `address`, which lies in a site. Refuses if the kernel's `map` gives another page.
    fn map(&self, address: usize) -> Result<usize, Refusal> {
        let alias = self.machine.map(address)?;
        // SAFETY: the text of a site can be read. The contract of `Machine::map` says that the page of `alias` can be read and written.
        unsafe { demand_same(address, alias) }.inspect_err(|_| self.machine.unmap(alias))?;
        Ok(alias)
    }

    /// Carries out `write`, whose bytes lie on one page and whose address is `alias`. Then compares the alias with the text, and unmaps the alias.
    ///
    /// # Safety
    /// `alias` is the alias of a site's bytes at `address`.
    unsafe fn part(&self, address: usize, alias: usize, write: Write) -> Result<(), Refusal> {
        // SAFETY: the caller guarantees that `alias` is the writable alias of a site's bytes. It has the same offset in its page as the site, so a
        // store that is whole at the site's address is whole at the alias.
        unsafe { write.store() };
        self.machine.clean(address, alias, write.bytes().len());
        // SAFETY: the text of a site can be read, and the caller guarantees that `alias` is mapped.
        let result = unsafe { demand_same(address, alias) };
        self.machine.unmap(alias);
        result
    }

    /// Carries out a write that lies on two pages. Only x86 has such sites, and a single store is never needed across two pages. Both pages are
    /// mapped before the first part is written: if `map` refused the second page after that, nobody would undo the first part.
    ///
    /// # Safety
    /// The bytes of `write` are a site's, and `alias` is the alias of the first one. The first `here` bytes of `write` are on the first page.
    #[cold]
    #[inline(never)]
    unsafe fn on_two_pages(&self, write: &Write, here: usize, alias: usize) -> Result<(), Refusal> {
        let second = write.address + here;
        let behind = self.map(second).inspect_err(|_| self.machine.unmap(alias))?;
        let (bytes, rest) = write.bytes().split_at(here);
        // SAFETY: the caller guarantees that `alias` is the alias of the first part. `map` has returned `behind` for the second part.
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
            if CROSSES && here < write.bytes().len() {
                // SAFETY: each write is of a site's bytes, and `alias` is their alias.
                unsafe { self.on_two_pages(write, here, alias) }.map_err(|refusal| (at, refusal))?;
                continue;
            }
            let mut there = *write;
            there.address = alias;
            // SAFETY: the caller of `write` guarantees that each write is to a site. `map` has returned `alias` for its bytes.
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
