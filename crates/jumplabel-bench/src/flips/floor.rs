//! The floor: the cost of a flip where nothing protects the code. Some text stays writable. A flip stores once into each of its sites, and then makes
//! one core sync. No library that keeps its text read-only can be faster.

use std::io::Error;

use super::groups;
use crate::Result;
use crate::membarrier::{PRIVATE_EXPEDITED_SYNC_CORE, REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, membarrier};
use crate::sites::Functions;

/// Makes the floor's text writable permanently, and registers for core sync.
pub fn open() -> Result<()> {
    let text = groups::floor_text();
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: these are whole pages of functions that exist only for this measurement.
    if unsafe { libc::mprotect(text.start as *mut libc::c_void, text.len(), all) } != 0 {
        return Err(format!("mprotect of the floor's text: {}", Error::last_os_error()).into());
    }
    membarrier(REGISTER_PRIVATE_EXPEDITED_SYNC_CORE)
}

/// Flips all of `sites`, which are sites in the floor's text.
pub fn flip(sites: &Functions, on: bool) {
    // SAFETY: `open` has made the text writable.
    unsafe { store(sites, on) };
    membarrier(PRIVATE_EXPEDITED_SYNC_CORE).expect("membarrier worked before");
}

/// The value to store into a site so that it jumps or falls through, and the offset of that value in the site.
#[cfg(target_arch = "x86_64")]
mod code {
    /// The type of the opcode, which is all that a flip changes. The four bytes that follow are the same for both opcodes.
    pub type Code = u8;

    pub const fn code(on: bool) -> Code {
        if on { 0xe9 } else { 0xa9 }
    }

    /// Makes instruction fetches see the stores. On this instruction set nothing is necessary.
    pub fn fetch(_: &crate::sites::Functions) {}
}
#[cfg(target_arch = "aarch64")]
mod code {
    pub type Code = u32;

    /// `b` over two instructions if the site is on, otherwise `nop`.
    pub const fn code(on: bool) -> Code {
        if on { 0x1400_0003 } else { 0xd503_201f }
    }

    /// Makes instruction fetches see the stores, as Arm ARM B2.4.4 says.
    pub fn fetch(sites: &crate::sites::Functions) {
        let each = || (0..sites.count).map(|at| sites.first + at * sites.apart);
        let complete = || {
            // SAFETY: the barrier only waits.
            unsafe { core::arch::asm!("dsb ish", options(nostack, preserves_flags)) }
        };
        // SAFETY: cache maintenance on code of this program changes nothing.
        each().for_each(|site| unsafe {
            core::arch::asm!("dc cvau, {}", in(reg) site, options(nostack, preserves_flags))
        });
        complete();
        // SAFETY: cache maintenance on code of this program changes nothing.
        each().for_each(|site| unsafe {
            core::arch::asm!("ic ivau, {}", in(reg) site, options(nostack, preserves_flags))
        });
        complete();
        // SAFETY: the barrier only discards instructions that were fetched ahead.
        unsafe { core::arch::asm!("isb", options(nostack, preserves_flags)) };
    }
}
#[cfg(target_arch = "riscv64")]
mod code {
    use std::io::Error;

    pub type Code = u32;

    /// `j` over two instructions if the site is on, otherwise `nop`.
    pub const fn code(on: bool) -> Code {
        if on { 0x00c0_006f } else { 0x0000_0013 }
    }

    /// Makes instruction fetches see the stores by `riscv_flush_icache`, because an instruction cannot reach the caches of other processors.
    pub fn fetch(_: &crate::sites::Functions) {
        const SYS_RISCV_FLUSH_ICACHE: libc::c_long = 259;
        // SAFETY: the call takes three integers. It flushes all code, for all threads.
        let flushed = unsafe { libc::syscall(SYS_RISCV_FLUSH_ICACHE, 0_usize, 0_usize, 0_usize) };
        assert_eq!(flushed, 0, "riscv_flush_icache: {}", Error::last_os_error());
    }
}
pub use code::{code, fetch};

/// Stores into all of `sites`, which are primed.
///
/// # Safety
/// The text of `sites` is writable.
pub unsafe fn store(sites: &Functions, on: bool) {
    for at in 0..sites.count {
        // SAFETY: the caller has made the text writable. Sites of more than one byte are aligned.
        unsafe { ((sites.first + at * sites.apart) as *mut code::Code).write_volatile(code(on)) };
    }
    fetch(sites);
}

/// The first site of the floor's text, for another command that executes it.
pub fn floor_of_one() -> Functions {
    groups::floor(1)
}

/// Flips the site of [`floor_of_one`].
pub fn store_floor(on: bool) {
    flip(&floor_of_one(), on);
}
