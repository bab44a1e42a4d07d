//! The floor: what a flip costs where nothing protects the code. Text of its own is left writable for good, each site
//! takes one plain store, and one core sync follows. No library that keeps its text read-only can be faster.

use std::io::Error;

use super::groups;
use crate::Result;
use crate::membarrier::{PRIVATE_EXPEDITED_SYNC_CORE, REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, membarrier};
use crate::sites::Functions;

/// Opens the floor's text for good, and registers for core sync.
pub fn open() -> Result<()> {
    let text = groups::floor_text();
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: whole pages of functions that are only there for this.
    if unsafe { libc::mprotect(text.start as *mut libc::c_void, text.len(), all) } != 0 {
        return Err(format!("mprotect of the floor's text: {}", Error::last_os_error()).into());
    }
    membarrier(REGISTER_PRIVATE_EXPEDITED_SYNC_CORE)
}

/// Flips all of `sites`, which are the floor's.
pub fn flip(sites: &Functions, on: bool) {
    // SAFETY: the text that `open` made writable.
    unsafe { store(sites, on) };
    membarrier(PRIVATE_EXPEDITED_SYNC_CORE).expect("membarrier worked before");
}

/// What is stored into a site so that it jumps, or does not, and where it lies in it.
#[cfg(target_arch = "x86_64")]
mod code {
    /// Both opcodes take the same four bytes behind them.
    pub type Code = u8;

    pub const fn code(on: bool) -> Code {
        if on { 0xe9 } else { 0xa9 }
    }

    /// Fetches see stores.
    pub fn fetch(_: &crate::sites::Functions) {}
}
#[cfg(target_arch = "aarch64")]
mod code {
    pub type Code = u32;

    /// `b` over two instructions, or `nop`.
    pub const fn code(on: bool) -> Code {
        if on { 0x1400_0003 } else { 0xd503_201f }
    }

    /// Arm ARM B2.4.4.
    pub fn fetch(sites: &crate::sites::Functions) {
        let each = || (0..sites.count).map(|at| sites.first + at * sites.apart);
        let complete = || {
            // SAFETY: waits.
            unsafe { core::arch::asm!("dsb ish", options(nostack, preserves_flags)) }
        };
        // SAFETY: acts of caches on code of this program.
        each().for_each(|site| unsafe {
            core::arch::asm!("dc cvau, {}", in(reg) site, options(nostack, preserves_flags))
        });
        complete();
        // SAFETY: the same acts of caches, on the same code.
        each().for_each(|site| unsafe {
            core::arch::asm!("ic ivau, {}", in(reg) site, options(nostack, preserves_flags))
        });
        complete();
        // SAFETY: nothing but what was fetched ahead changes.
        unsafe { core::arch::asm!("isb", options(nostack, preserves_flags)) };
    }
}
#[cfg(target_arch = "riscv64")]
mod code {
    use std::io::Error;

    pub type Code = u32;

    /// `j` over two instructions, or `nop`.
    pub const fn code(on: bool) -> Code {
        if on { 0x00c0_006f } else { 0x0000_0013 }
    }

    /// No program reaches the caches of other processors: `riscv_flush_icache`.
    pub fn fetch(_: &crate::sites::Functions) {
        const SYS_RISCV_FLUSH_ICACHE: libc::c_long = 259;
        // SAFETY: three integers: of all code, for all threads.
        let flushed = unsafe { libc::syscall(SYS_RISCV_FLUSH_ICACHE, 0_usize, 0_usize, 0_usize) };
        assert_eq!(flushed, 0, "riscv_flush_icache: {}", Error::last_os_error());
    }
}
pub use code::{code, fetch};

/// Stores into all of `sites`, which are primed.
///
/// # Safety
/// Their text is writable.
pub unsafe fn store(sites: &Functions, on: bool) {
    for at in 0..sites.count {
        // SAFETY: the caller has made the text writable; sites of more than a byte are aligned.
        unsafe { ((sites.first + at * sites.apart) as *mut code::Code).write_volatile(code(on)) };
    }
    fetch(sites);
}

/// The floor's one site, as another command executes it.
pub fn floor_of_one() -> Functions {
    groups::floor(1)
}

/// A flip of that site.
pub fn store_floor(on: bool) {
    flip(&floor_of_one(), on);
}
