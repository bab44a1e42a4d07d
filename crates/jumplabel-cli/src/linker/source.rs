//! A source that comes by standard input (`cc -xc -`). The compiler may run twice, and what was read once is gone: so each run reads a copy.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

use super::words::{LONGEST, Temporary, Words};

/// Names of standard input.
const NAMES: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// The copy, if the compiler reads standard input.
pub struct Source(Option<File>);

impl Source {
    /// Reads standard input to its end, if one of the words names it.
    pub fn of(words: &Words) -> io::Result<Source> {
        let names = words.all.iter().any(|word| word.to_str().is_some_and(|word| NAMES.contains(&word)));
        Ok(Source(if names { Some(copied(io::stdin())?) } else { None }))
    }

    /// The command, which reads the copy from its beginning.
    pub fn give(&self, mut to: Command) -> io::Result<Command> {
        if let Some(mut copy) = self.0.as_ref() {
            copy.rewind()?;
            to.stdin(copy.try_clone()?);
        }
        Ok(to)
    }
}

/// A file without a name.
fn copied(from: impl Read) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("jumplabel-cc-{}-source", std::process::id()));
    let mut to = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    drop(Temporary(path));
    if io::copy(&mut from.take(LONGEST + 1), &mut to)? > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {} MiB", LONGEST >> 20)));
    }
    Ok(to)
}
