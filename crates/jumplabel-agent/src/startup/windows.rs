//! What the start-up variables need of Windows.

use std::fs::File;
use std::io;

use super::not_regular;

/// False: a program has the rights of whoever starts it. One that is raised gets the environment of the user whose rights it has.
pub(super) fn has_more_rights() -> bool {
    false
}

/// There is no agent.
pub(super) fn start(_: &str) -> Result<(), &'static str> {
    Err("there is none on Windows; JUMPLABEL sets keys when a program starts")
}

/// Ends the process. `exit` would run destructors of what was not constructed yet.
pub(super) fn exit(status: i32) -> ! {
    unsafe extern "C" {
        fn _exit(status: i32) -> !;
    }
    // SAFETY: no condition.
    unsafe { _exit(status) }
}

/// Opens a file that is not a pipe, a device or a directory.
pub(super) fn open(path: &str) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}
