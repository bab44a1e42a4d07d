//! The part of the start-up variables that is different on Linux.

use std::fs::File;
use std::io;

use rustix::fs::{FileType, Mode, OFlags};

use super::not_regular;
use crate::agent::Options;
use crate::agent::no_remote::no_remote;
use crate::agent::streams::beside_streams;
pub(super) use crate::directory::has_more_rights;
use crate::line::say;
use crate::outside::Text;

/// Starts an agent as `words`, the value of `JUMPLABEL_AGENT`, asks.
pub(super) fn start(words: &str) -> Result<(), crate::StartError> {
    Options::from_words(words)?.map_or(Ok(()), |options| options.start().map(drop))
}

/// Forbids the agent, which may run already, to change anything that these selectors choose.
pub(super) fn forbid(selectors: &[Text]) {
    for selector in selectors {
        if let Err(error) = no_remote(selector.get()) {
            say(&format!("startup!: {error}"));
        }
    }
}

/// Ends the process by `_exit`. (`exit` would run destructors of objects whose constructors have not run yet.)
pub(super) fn exit(status: i32) -> ! {
    // SAFETY: `_exit` may be called at any time with any status.
    unsafe { libc::_exit(status) }
}

/// Opens a regular file.
pub(super) fn open(path: &str) -> io::Result<File> {
    let is_regular = |found: &rustix::fs::Stat| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    // The file is checked before it is opened, because a device may do something when it is opened.
    if !is_regular(&rustix::fs::stat(path)?) {
        return Err(not_regular());
    }
    // Some files of the kernel are regular, but a read of them waits (/proc/kmsg). `O_NONBLOCK` prevents that.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = File::from(beside_streams(|| rustix::fs::open(path, flags, Mode::empty()))?);
    if is_regular(&rustix::fs::fstat(&file)?) { Ok(file) } else { Err(not_regular()) }
}
