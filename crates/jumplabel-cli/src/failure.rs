//! The reasons for which a command fails, and the exit codes, which are those of grep and a few more.

use std::{fmt, io};

/// Everything is as the command asked.
pub const DONE: u8 = 0;
/// Nothing matched, or something differs from what was asked.
pub const DIFFERS: u8 = 1;

/// The reason why a command ends early.
#[derive(Debug)]
pub enum Failure {
    /// The words on the command line make no sense.
    Usage(String),
    /// Nothing matched a selector.
    Nothing(String),
    /// The target cannot be reached, or it is not a target at all.
    OutOfReach(String),
    /// The target is damaged, so that it is not safe to act on what it says.
    Refused(String),
}

impl Failure {
    /// The same failure, with a name in front of its message.
    pub fn of(self, name: &str) -> Failure {
        match self {
            Failure::Usage(why) => Failure::Usage(why),
            Failure::Nothing(why) => Failure::Nothing(why),
            Failure::OutOfReach(why) => Failure::OutOfReach(format!("{name}: {why}")),
            Failure::Refused(why) => Failure::Refused(format!("{name}: {why}")),
        }
    }

    /// The exit code for this failure.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Nothing(_) => DIFFERS,
            Failure::Usage(_) => 2,
            Failure::OutOfReach(_) => 3,
            Failure::Refused(_) => 4,
        }
    }
}

/// The failure that standard output was not written, for example because the disk is full. There is none if its reader has gone early.
pub fn unwritten(written: io::Result<()>) -> Result<(), Failure> {
    let refused = written.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
    refused.map_or(Ok(()), |error| Err(Failure::OutOfReach(format!("standard output cannot be written: {error}"))))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(text) | Failure::Nothing(text) | Failure::OutOfReach(text) | Failure::Refused(text)) = self;
        f.write_str(text)
    }
}
