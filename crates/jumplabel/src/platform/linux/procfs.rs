//! Opens files, most of them under /proc, and checks that those are the kernel's. A process can enter another root at any time, and
//! there anything can be at /proc, which says nothing about this process.

use core::ffi::CStr;

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, StatFs};

/// Opens a file, not for programs that this one executes. Whatever lies there: a pipe is not waited for, whose other end nobody may have,
/// and a terminal does not become the process's own.
#[inline(never)]
pub(super) fn open(path: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    above_standard(rustix::fs::open(path, flags | ALWAYS, Mode::empty())?)
}

const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The same, of a file in a directory.
pub(super) fn open_at(directory: impl AsFd, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    above_standard(rustix::fs::openat(directory, name, flags | ALWAYS, Mode::empty())?)
}

/// The same file by a number that is not of standard input, output or error. A program may have closed those; and what one of its threads
/// writes to its output must not go into this file.
fn above_standard(file: OwnedFd) -> rustix::io::Result<OwnedFd> {
    const FIRST: i32 = 3;
    if file.as_raw_fd() >= FIRST { Ok(file) } else { rustix::io::fcntl_dupfd_cloexec(&file, FIRST) }
}

/// By the answer of `statfs` or `fstatfs`. If the system refuses that, false.
pub(super) fn is_procfs(answer: rustix::io::Result<StatFs>) -> bool {
    answer.is_ok_and(|file_system| file_system.f_type == PROC_SUPER_MAGIC)
}
