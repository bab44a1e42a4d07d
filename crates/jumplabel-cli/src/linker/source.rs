//! Source code that comes by standard input (`cc -xc -`). The compiler may run twice, but standard input can be read only once. So each run reads a
//! copy.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

use super::words::{LONGEST, Temporary, Words};

/// The names of standard input.
const NAMES: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// A copy of standard input, if the compiler reads it.
pub struct Source(Option<File>);

impl Source {
    /// Reads standard input to its end if one of the words says that the compiler reads it.
    pub fn of(words: &Words) -> io::Result<Source> {
        let names = words.all.iter().any(|word| word.to_str().is_some_and(|word| NAMES.contains(&word)));
        Ok(Source(if names { Some(copied(io::stdin())?) } else { None }))
    }

    /// Gives the copy to a command as its standard input, from the beginning.
    pub fn give(&self, mut to: Command) -> io::Result<Command> {
        if let Some(mut copy) = self.0.as_ref() {
            copy.rewind()?;
            to.stdin(copy.try_clone()?);
        }
        Ok(to)
    }
}

/// Copies everything to a temporary file, whose name is removed at once.
fn copied(from: impl Read) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("jumplabel-cc-{}-source", std::process::id()));
    let mut to = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    drop(Temporary(path));
    if io::copy(&mut from.take(LONGEST + 1), &mut to)? > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {} MiB", LONGEST >> 20)));
    }
    Ok(to)
}
