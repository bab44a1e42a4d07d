//! Whether what was found under /proc is the kernel's. A process can enter a root in which anything lies there, at any time;
//! what it then reads is not about this process.

use rustix::fs::{PROC_SUPER_MAGIC, StatFs};

/// With the answer of `statfs` or `fstatfs`. Where it is refused, nobody knows.
pub(super) fn is_procfs(answer: rustix::io::Result<StatFs>) -> bool {
    answer.is_ok_and(|file_system| file_system.f_type == PROC_SUPER_MAGIC)
}
