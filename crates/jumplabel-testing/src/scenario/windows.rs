//! Processes on Windows. There, a scenario's child starts no further process.

use std::fs::{File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// Starts a child.
pub(super) fn start(command: &mut Command) -> Child {
    command.spawn().unwrap()
}

/// Ends a child of [`start`].
pub(super) fn end_all(child: &mut Child) {
    let _ = child.kill(); // This fails if the child has ended already.
}

/// A file that is deleted when its last handle is closed.
pub(super) fn tempfile() -> File {
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("scenario-{}-{number}", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).custom_flags(FILE_FLAG_DELETE_ON_CLOSE).open(path).unwrap()
}
