//! The memory that all machines need: stacks and tables of pages.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU64;

/// The size of a stack, in bytes.
pub const STACK: usize = 64 << 10;

#[repr(align(4096))]
pub struct Stacks(#[expect(dead_code, reason = "assembler uses it")] UnsafeCell<[[u8; STACK]; 2]>);
// SAFETY: each CPU uses only its own stack.
unsafe impl Sync for Stacks {}
pub static STACKS: Stacks = Stacks(UnsafeCell::new([[0; STACK]; 2]));

#[repr(align(4096))]
pub struct Table(pub [AtomicU64; 512]);

impl Table {
    pub const fn new() -> Table {
        Table([const { AtomicU64::new(0) }; 512])
    }
}

/// The table of pages in which each entry stands for a gibibyte. It is the root, except on x86-64, where one more table leads to it.
pub static ROOT: Table = Table::new();
/// The table of the kernel's gibibyte. Each entry stands for 2 MiB. Entry 1 is the kernel's text and entry 2 its constants; a module's are 4 and 5.
pub static IMAGE: Table = Table::new();

pub const GIB: u64 = 1 << 30;
