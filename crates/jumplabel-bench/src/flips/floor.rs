//! The floor: what a flip costs where nothing protects the code. Text of its own is left writable for good, each site
//! takes one plain store, and one core sync follows. No library that keeps its text read-only can be faster.

use std::io::Error;

use super::groups;
use crate::Result;
use crate::sites::Functions;

const TEST: u8 = 0xa9;
const JMP: u8 = 0xe9;

const SYS_MEMBARRIER: libc::c_long = libc::SYS_membarrier;
const PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 5;
const REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 6;

fn membarrier(command: i32) -> Result<()> {
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
    for at in 0..sites.count {
        let opcode = (sites.first + at * sites.apart) as *mut u8;
        // SAFETY: a byte of the text that `open` made writable; both opcodes take the same four bytes behind them.
        unsafe { opcode.write_volatile(if on { JMP } else { TEST }) };
    }
    membarrier(PRIVATE_EXPEDITED_SYNC_CORE).expect("membarrier worked before");
}
