//! Windows's part of the start-up variables.

use std::fs::File;
use std::io;

use super::not_regular;
use crate::outside::Text;

/// Always false: a program has the rights of whoever starts it. An elevated program gets the environment of the user whose rights it has.
pub(super) fn has_more_rights() -> bool {
    false
}

/// Returns the reason why there is no agent. `Ok` if `words` ask for none.
pub fn start(words: &str) -> Result<(), &'static str> {
    if matches!(words.trim(), "" | "0" | "off") {
        return Ok(());
    }
    Err("there is none on Windows; JUMPLABEL sets keys when a program starts")
}

/// There is no agent to forbid anything.
pub(super) fn forbid(_: &[Text]) {}

/// Ends the process. `exit` would run destructors of objects that are not constructed yet.
pub(super) fn exit(status: i32) -> ! {
    unsafe extern "C" {
        fn _exit(status: i32) -> !;
    }
    // SAFETY: `_exit` has no condition.
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
