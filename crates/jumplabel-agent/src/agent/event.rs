//! What an agent tells the program, which can log it: one line each.

use std::fmt;

use crate::protocol::{Happened, Peer};

/// Something that a program or its log wants to know. Displays as one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A client, or the end of the time that one asked for, has changed something.
    Changed(Happened),
    /// A client asked for a change, and was refused.
    Refused {
        /// Who asked.
        by: Peer,
        /// Why the agent refused.
        why: String,
    },
    /// The time of a change is over, and it was not taken back.
    Kept {
        /// The key whose change stays.
        key: String,
        /// Why the agent did not take it back.
        why: String,
    },
    /// Sites did not do what their keys say, because something outside the library had changed them. They do again.
    Repaired {
        /// How many.
        sites: usize,
        /// Who asked for a look; not there if it was time for one.
        by: Option<Peer>,
    },
    /// A client follows what happens at names of layers, or does not any more.
    Followed {
        /// Who asked.
        by: Peer,
        /// What; nothing at the end.
        what: Option<String>,
    },
    /// Somebody else's process has connected, and was cut off.
    Foreign(Peer),
    /// The agent cannot do its work now: no descriptors, no memory. It goes on when it can.
    Trouble(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Changed(Happened { by, done, .. }) => {
                for (number, change) in done.changes.iter().enumerate() {
                    let comma = if number == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {} -> {}", change.key, change.from, change.to)?;
                }
                match by {
                    None => f.write_str(": the time is over")?,
                    Some(peer) => write!(f, " by {peer}")?,
                }
                done.reverts_in.map_or(Ok(()), |seconds| write!(f, " for {seconds} s"))
            }
            Event::Refused { by, why } => write!(f, "refused to {by}: {why}"),
            Event::Kept { key, why } => write!(f, "{key} stays as it is, though the time is over: {why}"),
            Event::Repaired { sites, by } => {
                let verb = if *sites == 1 { "site was" } else { "sites were" };
                write!(f, "{sites} {verb} changed from outside and brought back")?;
                by.map_or(Ok(()), |peer| write!(f, ": {peer} asked for a look"))
            }
            Event::Followed { by, what: Some(what) } => write!(f, "{what} is followed by {by}"),
            Event::Followed { by, what: None } => write!(f, "nothing is followed any more by {by}"),
            Event::Foreign(peer) => write!(f, "cut off {peer}: the agent serves its own user and root"),
            Event::Trouble(why) => write!(f, "agent: {why}"),
        }
    }
}

/// As logs name it.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uid {} (pid {})", self.uid, self.pid)
    }
}
