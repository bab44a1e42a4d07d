//! A second, writable mapping of text, which exists only during a write.

use core::arch::asm;
use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::Refusal;

/// [`Machine::map`](crate::Machine::map) and [`Machine::unmap`](crate::Machine::unmap) for a kernel that has no writable mapping of its text. During
/// a write, a free entry of the root table maps the memory around the text a second time, readable and writable (Sv32, Sv39, Sv48, Sv57). This takes
/// no page of memory, and no address for good. During the write, all memory of one entry (Sv32: 4 MiB, Sv39: 1 GiB) is writable there.
///
/// Conditions: an entry that is 0 is free. The root table that this hart uses (`satp`) can be written at its physical address plus `tables` (see
/// [`new`](Self::new)). Nobody uses the addresses of a free entry, because other harts may still have an old translation of them. While translation
/// is off, text is writable at its own address. With 32 bits, text and the root table are in the first 4 GiB of physical memory.
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
        // SAFETY: the instruction only reads a register.
        unsafe { asm!("csrr {}, satp", out(reg) satp, options(nomem, nostack)) };
        let bits = match (usize::BITS, satp >> MODE) {
            (_, 0) => return Ok(None),
            (32, _) => 22,
            (_, mode @ 8..=10) => 30 + 9 * (mode as u32 - 8),
            _ => return Err(Refusal::errno(NO_SYSTEM)),
        };
        let root = ((satp & ((1 << NUMBER) - 1)) << 12).wrapping_add(self.tables);
        // SAFETY: `satp` has the physical address of the root table that is in use. The conditions of `Window` say that it can be written at `root`.
        // Everybody here accesses it as atomic words.
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
        // The search goes from the last entry but one downwards. The last entry is left out, because its addresses can overflow.
        let free = |&at: &usize| root[at].compare_exchange(0, leaf, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let at = (1..ENTRIES - 1).rev().find(free).ok_or(Refusal::errno(NO_MEMORY))?;
        let unused = usize::BITS - ENTRIES.ilog2() - bits; // In a valid address, these upper bits equal the highest bit that is used.
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

/// A root table: a page of entries, each as long as a register.
type Root = [AtomicUsize; ENTRIES];
const ENTRIES: usize = 4096 / size_of::<usize>();
/// The number of the lowest bit of the mode in `satp`. The lowest `NUMBER` bits of `satp` hold the page number of the root table.
const MODE: u32 = if cfg!(target_arch = "riscv32") { 31 } else { 60 };
const NUMBER: u32 = if cfg!(target_arch = "riscv32") { 22 } else { 44 };

/// The error number ENOMEM. `NO_SYSTEM` is ENOSYS.
const NO_MEMORY: i32 = 12;
const NO_SYSTEM: i32 = 38;

fn forget(alias: usize) {
    // SAFETY: the instruction makes this hart forget the translation of one address, which only the writer uses.
    unsafe { asm!("sfence.vma {}, zero", in(reg) alias, options(nostack)) };
}
