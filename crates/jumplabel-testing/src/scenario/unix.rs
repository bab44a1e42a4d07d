//! Processes on Unix: process groups, files without a name, forks.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

/// The seconds after which a forked child of a scenario is killed.
const ALARM: u32 = 30;

/// Starts a child in a process group of its own, so that everything it starts can be ended with it.
pub(super) fn start(command: &mut Command) -> Child {
    command.process_group(0).spawn().unwrap()
}

/// Ends a child of [`start`], and everything that it started.
pub(super) fn end_all(child: &mut Child) {
    // SAFETY: this signals the process group that a child of this process leads. The child's number cannot have been reused: it was waited for just
    // now, or not at all.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
}

/// Makes a file without a name. A pipe's reader would wait for a grandchild that lives on; the reader of this file does not.
pub(super) fn tempfile() -> File {
    // SAFETY: the name is a constant.
    let file = unsafe { libc::memfd_create(c"scenario".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(file >= 0);
    // SAFETY: the descriptor is new, and belongs to nobody else.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(file) }
}

/// Waits for a child made by `fork` or `clone` to end.
pub fn wait_for(child: i32) -> ExitStatus {
    let mut status = 0;
    // SAFETY: this waits for one child of this process, and writes only `status`.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) }, child);
    ExitStatus::from_raw(status)
}

/// Waits for a child made by `fork` or `clone`, which must have ended with status 0.
pub fn reap(child: i32) {
    let status = wait_for(child);
    assert!(status.success(), "child {child}: {status}");
}

/// Runs `body` in a child made by `fork`, which has one thread. Returns the child's process number.
pub fn fork(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the bodies do only things that glibc and musl allow in the forked child of a process with threads.
    match unsafe { libc::fork() } {
        0 => end(body),
        child => child,
    }
}

/// Runs `body` in a child process, and ends the process at once, without the exit handlers of its parent. An alarm ends it if it hangs.
pub fn end(body: impl FnOnce() -> bool) -> ! {
    // SAFETY: these calls set a deadline for this process, and end it.
    unsafe {
        libc::alarm(ALARM * super::slowness());
        let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
        libc::_exit(i32::from(!well))
    }
}
