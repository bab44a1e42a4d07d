//! Core sync as a bare system call. The floor and the bare writers make it, and `step` counts it.

use std::io::Error;

use crate::Result;

/// The command that interrupts each processor that runs a thread of this process.
pub const PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 5;
/// The command that allows [`PRIVATE_EXPEDITED_SYNC_CORE`] for this process.
pub const REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 6;

pub fn membarrier(command: i32) -> Result<()> {
    // SAFETY: the call takes three integers.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(format!("membarrier: {}", Error::last_os_error()).into()),
    }
}
