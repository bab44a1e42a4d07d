//! Events that an agent reports to the program, so that the program can log them.

use std::fmt;

use crate::protocol::{Happened, Peer};

/// Something that an agent has done or noticed. It displays as one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Keys, modes or names of a layer have changed, because a client asked for that, or because the time of an earlier change was over.
    Changed(Happened),
    /// A client asked for a change, and the agent refused it.
    Refused {
        /// The client that asked.
        by: Peer,
        /// Why the agent refused.
        why: String,
    },
    /// The time of a change is over, but the agent did not take the change back.
    Kept {
        /// The name that stays as it is: that of a key, that of a mode, or a layer's name.
        key: String,
        /// Why the agent did not take the change back.
        why: String,
    },
    /// The agent has repaired sites that something outside the library had changed, so that they did not do what their keys say.
    Repaired {
        /// The number of repaired sites.
        sites: usize,
        /// The client that asked for the repair; `None` if the agent looked at the sites by itself.
        by: Option<Peer>,
    },
    /// A client has begun or stopped following names of layers.
    Followed {
        /// The client.
        by: Peer,
        /// The items that the client follows now; `None` if it has stopped.
        what: Option<String>,
    },
    /// A process of a user who is neither the agent's nor root has connected. The agent has cut it off.
    Foreign(Peer),
    /// The agent could not do a part of its work, and will try again: the text says why.
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
