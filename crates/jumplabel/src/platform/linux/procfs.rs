//! Opens files, most of them under /proc, and checks whether a file under /proc is the kernel's. The check is needed because a process can change its
//! root directory at any time (`chroot`). Under another root, /proc can contain any files, which tell nothing about this process.

use core::ffi::CStr;

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, StatFs};

/// Opens a file. Programs that this process executes do not inherit the descriptor. The call does no harm, whatever lies at `path`: it does not wait
/// for the other end of a pipe, and does not make a terminal the controlling terminal of this process.
#[inline(never)]
pub(super) fn open(path: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    above_standard(rustix::fs::open(path, flags | ALWAYS, Mode::empty())?)
}

const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens a file in a directory, like [`open`].
pub(super) fn open_at(directory: impl AsFd, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    above_standard(rustix::fs::openat(directory, name, flags | ALWAYS, Mode::empty())?)
}

/// Returns the same file with a descriptor number above those of standard input, output and error. If the program has closed one of these three, the
/// system gives that number to the next file that is opened. Without this function, output of another thread to standard output could go into this
/// file.
fn above_standard(file: OwnedFd) -> rustix::io::Result<OwnedFd> {
    const FIRST: i32 = 3;
    if file.as_raw_fd() >= FIRST { Ok(file) } else { rustix::io::fcntl_dupfd_cloexec(&file, FIRST) }
}

/// Whether a file lies in a procfs. `answer` is the result of `statfs` or `fstatfs` for the file. False if that call failed.
pub(super) fn is_procfs(answer: rustix::io::Result<StatFs>) -> bool {
    answer.is_ok_and(|file_system| file_system.f_type == PROC_SUPER_MAGIC)
}
