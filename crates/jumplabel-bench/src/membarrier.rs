//! Core sync as a bare system call. The floor and the bare writers make this call, and `step` counts it.

use std::io::Error;

use crate::Result;

/// The command that interrupts each processor on which a thread of this process runs.
pub const PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 5;
/// The command that allows this process to use [`PRIVATE_EXPEDITED_SYNC_CORE`].
pub const REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 6;

pub fn membarrier(command: i32) -> Result<()> {
    // SAFETY: the call takes three integers.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(format!("membarrier: {}", Error::last_os_error()).into()),
    }
}
