//! A second, writable mapping of text, which lasts as long as a write.

use core::arch::asm;
use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::Refusal;

/// [`Machine::map`](crate::Machine::map) and [`Machine::unmap`](crate::Machine::unmap) for a kernel that has no writable mapping of its text. During
/// a write, a free entry of the root table maps the memory around the text a second time, readable and writable (Sv32, Sv39, Sv48, Sv57). This takes
/// no page of memory, and no address for good. All the memory of one entry (Sv32: 4 MiB, Sv39: 1 GiB) is writable there meanwhile.
///
/// Conditions: entries that are 0 are free. The root table that this hart uses (`satp`) can be written at the address that `tables` gives. Nobody
/// uses addresses that a free entry stands for, because other harts may still have an old translation of them. While translation is off, text is
/// writable at its own address. With 32 bits, text and the root table are in the first 4 GiB of physical memory.
pub struct Window {
    text: usize,
    tables: usize,
}

impl Window {
    /// `text` is the difference between an address of text and its physical address. `tables` is the difference between the address at which a table
    /// can be written and its physical address. Both are 0 in a kernel that runs at its physical addresses.
    #[must_use]
    pub const fn new(text: usize, tables: usize) -> Window {
        Window { text, tables }
    }

    /// The root table, and the number of address bits that lie below the index of its entries. `None` if translation is off.
    fn root(&self) -> Result<Option<(&Root, u32)>, Refusal> {
        let satp: usize;
        // SAFETY: this reads a register.
        unsafe { asm!("csrr {}, satp", out(reg) satp, options(nomem, nostack)) };
        let bits = match (usize::BITS, satp >> MODE) {
            (_, 0) => return Ok(None),
            (32, _) => 22,
            (_, mode @ 8..=10) => 30 + 9 * (mode as u32 - 8),
            _ => return Err(Refusal::errno(NO_SYSTEM)),
        };
        let root = ((satp & ((1 << NUMBER) - 1)) << 12).wrapping_add(self.tables);
        // SAFETY: `satp` leads to a table that exists, and the caller of `new` says where it can be written. All accesses are atomic.
        Ok(Some((unsafe { &*(root as *const Root) }, bits)))
    }

    /// [`Machine::map`](crate::Machine::map).
    ///
    /// # Errors
    /// ENOMEM if no entry of the root table is free; ENOSYS if the mode of translation is unknown.
    pub fn open(&self, address: usize) -> Result<usize, Refusal> {
        let Some((root, bits)) = self.root()? else { return Ok(address) };
        let physical = address.wrapping_sub(self.text);
        let below = physical & ((1 << bits) - 1);
        let leaf = (physical - below) >> 2 | 0xc7; // dirty, accessed, writable, readable, valid
        // The search goes down from the entry before the last one, because addresses of the last one can overflow.
        let free = |&at: &usize| root[at].compare_exchange(0, leaf, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let at = (1..ENTRIES - 1).rev().find(free).ok_or(Refusal::errno(NO_MEMORY))?;
        let unused = usize::BITS - ENTRIES.ilog2() - bits; // In a valid address, the unused upper bits equal the highest bit that is used.
        let alias = ((at << bits << unused).cast_signed() >> unused).cast_unsigned() | below;
        forget(alias);
        Ok(alias)
    }

    /// [`Machine::unmap`](crate::Machine::unmap).
    pub fn close(&self, alias: usize) {
        if let Ok(Some((root, bits))) = self.root() {
            root[alias >> bits & (ENTRIES - 1)].store(0, Ordering::Release);
            forget(alias);
        }
    }
}

/// A table of pages: a page of entries, which have the size of a register.
type Root = [AtomicUsize; ENTRIES];
const ENTRIES: usize = 4096 / size_of::<usize>();
/// The first bit of the mode in `satp`, and the number of the bits that hold the number of the root table's page.
const MODE: u32 = if cfg!(target_arch = "riscv32") { 31 } else { 60 };
const NUMBER: u32 = if cfg!(target_arch = "riscv32") { 22 } else { 44 };

/// The error numbers ENOMEM and ENOSYS.
const NO_MEMORY: i32 = 12;
const NO_SYSTEM: i32 = 38;

fn forget(alias: usize) {
    // SAFETY: this hart forgets the translation of an address that only the writer uses.
    unsafe { asm!("sfence.vma {}, zero", in(reg) alias, options(nostack)) };
}
