//! The tables of pages. Text can be executed, and no mapping of it is writable. During a write, its page is mapped a second time. There are two
//! places for that, because a site may lie on two pages.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[repr(align(4096))]
struct Table([AtomicU64; 512]);

impl Table {
    const fn new() -> Table {
        Table([const { AtomicU64::new(0) }; 512])
    }

    /// The entry of another table that leads to this one.
    fn entry(&self) -> u64 {
        (&raw const *self) as u64 >> 2 | 1
    }
}

/// The tables. An entry of `ROOT` stands for a gibibyte, one of `IMAGE` for 2 MiB, one of `WINDOW_PAGES` for a page.
static ROOT: Table = Table::new();
static IMAGE: Table = Table::new();
static ABOVE_WINDOW: Table = Table::new();
static WINDOW_PAGES: Table = Table::new();

const GIB: u64 = 1 << 30;
const WINDOW: usize = 4 << 30;

const READ: u64 = 2;
const WRITE: u64 = 4;
const EXECUTE: u64 = 8;

fn leaf(physical: u64, rights: u64) -> u64 {
    physical >> 2 | rights | 0xc1 // valid, accessed, dirty
}

/// Turns translation on, for this hart. All harts store the same entries.
pub fn map() {
    ROOT.0[0].store(leaf(0, READ | WRITE), Relaxed); // devices
    ROOT.0[2].store(IMAGE.entry(), Relaxed);
    ROOT.0[WINDOW >> 30].store(ABOVE_WINDOW.entry(), Relaxed);
    ABOVE_WINDOW.0[0].store(WINDOW_PAGES.entry(), Relaxed);
    for (at, entry) in (0..).zip(&IMAGE.0) {
        let rights = match at {
            0 => READ | EXECUTE,
            1 => READ,
            _ => READ | WRITE,
        };
        entry.store(leaf(2 * GIB + (at << 21), rights), Relaxed);
    }
    let root = 8 << 60 | (&raw const ROOT) as u64 >> 12;
    // SAFETY: the code that runs stays at its address.
    unsafe { asm!("sfence.vma", "csrw satp, {}", "sfence.vma", in(reg) root) };
}

/// Maps a page of text a second time, until [`close`], and returns the address of the same byte there. Even and odd pages have one place each, so two
/// adjacent pages can be mapped at once. Only the CPU that has the library's lock calls this.
pub fn open(address: usize) -> usize {
    let page = address >> 12 & 1;
    let place = WINDOW + (page << 12);
    WINDOW_PAGES.0[page].store(leaf(address as u64 & !0xfff, READ | WRITE), Relaxed);
    forget(place);
    place + (address & 0xfff)
}

/// Ends the second mapping of a page.
pub fn close(alias: usize) {
    WINDOW_PAGES.0[alias >> 12 & 1].store(0, Relaxed);
    forget(alias);
}

fn forget(address: usize) {
    // SAFETY: this hart forgets the translation of a place that only the writer uses.
    unsafe { asm!("sfence.vma {}, zero", in(reg) address, options(nostack)) };
}
