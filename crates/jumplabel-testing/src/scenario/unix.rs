//! Processes as Unix has them: groups of them, files without a name, forks.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

/// How long a child of a scenario may live, in seconds.
const ALARM: u32 = 30;

/// Starts a child in a group of its own, so that what it starts can be ended with it.
pub(super) fn start(command: &mut Command) -> Child {
    command.process_group(0).spawn().unwrap()
}

/// Ends a child of [`start`], and all that it started.
pub(super) fn end_all(child: &mut Child) {
    // SAFETY: a signal to the group of a child of ours, which was not reused: the child leads it and was waited for only
    // just now, or not at all.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
}

/// A file without a name: unlike a pipe, it does not make its reader wait for a grandchild that lives on.
pub(super) fn tempfile() -> File {
    // SAFETY: a constant name.
    let file = unsafe { libc::memfd_create(c"scenario".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(file >= 0);
    // SAFETY: a new descriptor of ours.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(file) }
}

/// Waits for a child made by `fork` or `clone` to end.
pub fn wait_for(child: i32) -> ExitStatus {
    let mut status = 0;
    // SAFETY: waits for one child of ours and writes its status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) }, child);
    ExitStatus::from_raw(status)
}

/// Waits for a child made by `fork` or `clone`, and demands that it ended well.
pub fn reap(child: i32) {
    let status = wait_for(child);
    assert!(status.success(), "child {child}: {status}");
}

/// Runs `body` in a child made by `fork`, which has one thread; gives back its number.
pub fn fork(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: what the callers' bodies do is allowed in a child of a process with threads on glibc and musl.
    match unsafe { libc::fork() } {
        0 => end(body),
        child => child,
    }
}

/// Runs `body` in a child process and leaves it, with no handler of the parent's and no hang.
pub fn end(body: impl FnOnce() -> bool) -> ! {
    // SAFETY: a deadline for this process, and its end.
    unsafe {
        libc::alarm(ALARM * super::slowness());
        let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
        libc::_exit(i32::from(!well))
    }
}
