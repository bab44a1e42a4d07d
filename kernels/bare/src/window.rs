//! The page tables. The text is always mapped, executable and not writable. During a write, the page that is written has a second mapping, which is
//! writable and not executable. Two pages can have a second mapping at the same time, because a site may lie on two pages.

use core::arch::asm;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::hart::REGISTER;

#[repr(align(4096))]
struct Table([AtomicUsize; 4096 / REGISTER]);

impl Table {
    const fn new() -> Table {
        Table([const { AtomicUsize::new(0) }; 4096 / REGISTER])
    }

    /// The entry by which another table leads to this one.
    fn entry(&self) -> usize {
        (&raw const *self) as usize >> 2 | 1
    }
}

/// The tables. An entry of `WINDOW_PAGES` stands for a page.
static ROOT: Table = Table::new();
static IMAGE: Table = Table::new();
static WINDOW_PAGES: Table = Table::new();

/// The address of memory. The image begins there: 2 MiB of text, 2 MiB of constants, then data.
const MEMORY: usize = 2 << 30;
const IMAGE_PART: usize = 2 << 20;

/// The address of the window, where pages are mapped a second time.
const WINDOW: usize = 3 << 30;

const READ: usize = 2;
const WRITE: usize = 4;
const EXECUTE: usize = 8;

fn leaf(physical: usize, rights: usize) -> usize {
    physical >> 2 | rights | 0xc1 // valid, accessed, dirty
}

fn rights(offset: usize) -> usize {
    match offset / IMAGE_PART {
        0 => READ | EXECUTE,
        1 => READ,
        _ => READ | WRITE,
    }
}

/// Turns translation on, for this hart. All harts store the same entries.
pub fn map() {
    let mode = store_entries();
    let root = mode | (&raw const ROOT) as usize >> 12;
    // SAFETY: the code that runs stays at its address.
    unsafe { asm!("sfence.vma", "csrw satp, {}", "sfence.vma", in(reg) root) };
}

/// Fills the tables of Sv39, and returns its mode. An entry of `ROOT` stands for a gibibyte, one of `IMAGE` for 2 MiB.
#[cfg(target_arch = "riscv64")]
fn store_entries() -> usize {
    static ABOVE_WINDOW: Table = Table::new();
    ROOT.0[0].store(leaf(0, READ | WRITE), Relaxed); // devices
    ROOT.0[MEMORY >> 30].store(IMAGE.entry(), Relaxed);
    ROOT.0[WINDOW >> 30].store(ABOVE_WINDOW.entry(), Relaxed);
    ABOVE_WINDOW.0[0].store(WINDOW_PAGES.entry(), Relaxed);
    for (at, entry) in (0..).zip(&IMAGE.0) {
        entry.store(leaf(MEMORY + (at << 21), rights(at << 21)), Relaxed);
    }
    8 << 60
}

/// Fills the tables of Sv32, and returns its mode. An entry of `ROOT` stands for 4 MiB, one of `IMAGE` for a page of text or constants.
#[cfg(target_arch = "riscv32")]
fn store_entries() -> usize {
    const PART: usize = 4 << 20;
    let devices = 0..MEMORY / 2;
    let data = MEMORY + PART..MEMORY + 32 * PART;
    for address in devices.chain(data).step_by(PART) {
        ROOT.0[address / PART].store(leaf(address, READ | WRITE), Relaxed);
    }
    ROOT.0[MEMORY / PART].store(IMAGE.entry(), Relaxed);
    ROOT.0[WINDOW / PART].store(WINDOW_PAGES.entry(), Relaxed);
    for (at, entry) in (0..).zip(&IMAGE.0) {
        entry.store(leaf(MEMORY + (at << 12), rights(at << 12)), Relaxed);
    }
    1 << 31
}

/// Maps a page of text a second time, until [`close`], and returns the address of the same byte there. Even and odd pages have one place each, so two
/// adjacent pages can be mapped at once. Only the CPU that has the library's lock calls this.
pub fn open(address: usize) -> usize {
    let page = address >> 12 & 1;
    let place = WINDOW + (page << 12);
    WINDOW_PAGES.0[page].store(leaf(address & !0xfff, READ | WRITE), Relaxed);
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
