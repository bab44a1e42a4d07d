//! Checks that a file under /proc is the kernel's. A process can enter another root at any time, and there anything can be at /proc,
//! which says nothing about this process.

use core::ffi::CStr;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, StatFs};

use crate::error::Errno;

/// Opens a file, not for programs that this one executes. Whatever lies there: a pipe is not waited for, whose other end nobody may have,
/// and a terminal does not become the process's own.
#[inline(never)] // Once in a program is enough.
pub(super) fn open(path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// By the answer of `statfs` or `fstatfs`. If the system refuses that, false.
pub(super) fn is_procfs(answer: rustix::io::Result<StatFs>) -> bool {
    answer.is_ok_and(|file_system| file_system.f_type == PROC_SUPER_MAGIC)
}
