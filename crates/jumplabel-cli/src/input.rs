//! Opens files that a user names. Such a file may be anything: a pipe that nobody writes to, a device without an end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file to read it.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Opening a pipe would wait for a writer, and opening a device may have an effect. So the type is checked before the file is opened.
    regular(std::fs::metadata(path)?)?;
    // Some files of the kernel, such as /proc/kmsg, are regular, but a read of them waits.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = regular(file.metadata()?)?;
    Ok((file, metadata))
}

fn regular(found: Metadata) -> io::Result<Metadata> {
    if found.is_file() { Ok(found) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")) }
}

/// Reads everything. It is an error if there are more than `most` bytes.
pub fn read(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("longer than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}
