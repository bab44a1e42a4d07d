//! Whether what was found under /proc is the kernel's. A process can enter another root at any time, with anything at /proc; what it
//! reads there is not about this process.

use rustix::fs::{PROC_SUPER_MAGIC, StatFs};

/// By the answer of `statfs` or `fstatfs`. If the system refuses that, false.
pub(super) fn is_procfs(answer: rustix::io::Result<StatFs>) -> bool {
    answer.is_ok_and(|file_system| file_system.f_type == PROC_SUPER_MAGIC)
}
