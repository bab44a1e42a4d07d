//! Core sync as a bare system call: what the floor and the bare writers make, and what is counted.

use std::io::Error;

use crate::Result;

/// Interrupts each processor that runs a thread of this process.
pub const PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 5;
/// Allows that.
pub const REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 6;

pub fn membarrier(command: i32) -> Result<()> {
    // SAFETY: three integers.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(format!("membarrier: {}", Error::last_os_error()).into()),
    }
}
