//! Opens files, most of them under /proc, and checks that files under /proc are the kernel's. The check is needed because a process can enter
//! another root at any time. Under another root, /proc can be anything, and then it tells nothing about this process.

use core::ffi::CStr;

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, StatFs};

/// Opens a file. Programs that this process executes do not inherit the descriptor. Whatever lies at `path`, opening it does no harm. If it is a
/// pipe, the call does not wait until the other end is opened. If it is a terminal, it does not become the controlling terminal of this process.
#[inline(never)]
pub(super) fn open(path: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    above_standard(rustix::fs::open(path, flags | ALWAYS, Mode::empty())?)
}

const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Like [`open`], for a file in a directory.
pub(super) fn open_at(directory: impl AsFd, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    above_standard(rustix::fs::openat(directory, name, flags | ALWAYS, Mode::empty())?)
}

/// The same file under a descriptor number above those of standard input, output and error. If the program has closed one of these three, the
/// system gives its number to the next opened file. Output that a thread then writes to standard output must not go into this file.
fn above_standard(file: OwnedFd) -> rustix::io::Result<OwnedFd> {
    const FIRST: i32 = 3;
    if file.as_raw_fd() >= FIRST { Ok(file) } else { rustix::io::fcntl_dupfd_cloexec(&file, FIRST) }
}

/// Whether a file is in a procfs. `answer` is the answer of `statfs` or `fstatfs`. False if the system refused to answer.
pub(super) fn is_procfs(answer: rustix::io::Result<StatFs>) -> bool {
    answer.is_ok_and(|file_system| file_system.f_type == PROC_SUPER_MAGIC)
}
