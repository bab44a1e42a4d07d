//! What all machines have in memory: stacks, and tables of pages.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU64;

/// Bytes of a stack.
pub const STACK: usize = 64 << 10;

#[repr(align(4096))]
pub struct Stacks(#[expect(dead_code, reason = "assembler uses it")] UnsafeCell<[[u8; STACK]; 2]>);
// SAFETY: each CPU has its own.
unsafe impl Sync for Stacks {}
pub static STACKS: Stacks = Stacks(UnsafeCell::new([[0; STACK]; 2]));

#[repr(align(4096))]
pub struct Table(pub [AtomicU64; 512]);

impl Table {
    pub const fn new() -> Table {
        Table([const { AtomicU64::new(0) }; 512])
    }
}

/// Each entry is a gibibyte.
pub static ROOT: Table = Table::new();
/// The gibibyte that the kernel is in. Each entry is 2 MiB: number 1 is text, 2 constants; of a module, 4 and 5.
pub static IMAGE: Table = Table::new();

pub const GIB: u64 = 1 << 30;
