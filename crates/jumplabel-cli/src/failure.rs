//! The reasons why a command fails, and the exit codes: those of grep and a few more.

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
    /// The target cannot be reached, or it is not a target at all; or the output cannot be written.
    OutOfReach(String),
    /// The target is damaged, so that it is not safe to act on its contents; or the target or its system forbids the command.
    Refused(String),
}

impl Failure {
    /// The same failure with `name` in front of its message. `Usage` and `Nothing` stay as they are.
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

/// Turns a failed write to standard output into a failure, for example if the disk is full. If the reader has gone early, as `head` does, there is no
/// failure.
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
