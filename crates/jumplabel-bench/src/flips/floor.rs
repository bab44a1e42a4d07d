//! The floor: what a flip costs where nothing protects the code. Text of its own is left writable for good, each site
//! takes one plain store, and one core sync follows. No library that keeps its text read-only can be faster.

use std::io::Error;

use super::groups;
use crate::Result;
use crate::sites::Functions;

const SYS_MEMBARRIER: libc::c_long = libc::SYS_membarrier;
pub const PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 5;
const REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 6;

pub fn membarrier(command: i32) -> Result<()> {
    // SAFETY: three integers.
    match unsafe { libc::syscall(SYS_MEMBARRIER, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(format!("membarrier: {}", Error::last_os_error()).into()),
    }
}

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

/// The opcode of a site that jumps, or does not; both take the same four bytes behind them.
pub const fn opcode(on: bool) -> u8 {
    if on { 0xe9 } else { 0xa9 }
}

/// Stores the opcodes of all of `sites`, which are primed.
///
/// # Safety
/// Their text is writable.
pub unsafe fn store(sites: &Functions, on: bool) {
    for at in 0..sites.count {
        // SAFETY: by the contract.
        unsafe { ((sites.first + at * sites.apart) as *mut u8).write_volatile(opcode(on)) };
    }
}
