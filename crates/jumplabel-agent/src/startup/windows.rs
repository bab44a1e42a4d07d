//! The part of the start-up variables that is different on Windows.

use std::fs::File;
use std::io;

use super::not_regular;
use crate::outside::Text;

/// Always false: a program has the rights of the user who starts it. An elevated program gets the environment of the user whose rights it has.
pub(super) fn has_more_rights() -> bool {
    false
}

/// Starts no agent. Returns the reason, or `Ok` if `words`, the value of `JUMPLABEL_AGENT`, asks for none.
pub fn start(words: &str) -> Result<(), &'static str> {
    if matches!(words.trim(), "" | "0" | "off") {
        return Ok(());
    }
    Err("there is none on Windows; JUMPLABEL sets keys when a program starts")
}

/// Does nothing, because there is no agent that could change keys.
pub(super) fn forbid(_: &[Text]) {}

/// Ends the process by `_exit`. (`exit` would run destructors of objects whose constructors have not run yet.)
pub(super) fn exit(status: i32) -> ! {
    unsafe extern "C" {
        fn _exit(status: i32) -> !;
    }
    // SAFETY: `_exit` may be called at any time with any status.
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
