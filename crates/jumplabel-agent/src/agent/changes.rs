//! The last change that the agent made of each key and mode, and who asked for it.
//!
//! Lists show a change as long as the key has the value that the change set. The agent does not see changes that the program makes: if the
//! program turns a key off and on again, lists still show the earlier change.

use std::collections::VecDeque;
use std::time::Instant;

use crate::change::Change;
use crate::protocol::{Peer, Since};
use crate::subject::Subject;

/// The agent keeps this many changes, the latest ones.
const MOST: usize = 4096;

struct Made {
    when: Instant,
    by: Option<Peer>,
    address: usize,
    name: String,
    /// The state that the change set.
    state: String,
}

/// All changes that the agent remembers, the latest last.
#[derive(Default)]
pub struct Changes(VecDeque<Made>);

impl Changes {
    /// Notes the changes that a transaction has made.
    pub fn note(&mut self, changes: &[Change<'_>], by: Option<Peer>, when: Instant) {
        for change in changes {
            let &Change { subject: &Subject { address, ref name, .. }, .. } = change;
            self.0.retain(|made| made.address != address || made.name != *name);
            if self.0.len() == MOST {
                self.0.pop_front();
            }
            self.0.push_back(Made { when, by, address, name: name.clone(), state: change.state() });
        }
    }

    /// The last change of a subject. `None` if the agent made none, or if the subject no longer has the state that the change set.
    pub fn of(&self, subject: &Subject, now: Instant) -> Option<Since> {
        let is_it = |made: &&Made| made.address == subject.address && made.name == subject.name;
        let made = self.0.iter().find(is_it).filter(|made| made.state == subject.state())?;
        Some(Since { seconds: now.saturating_duration_since(made.when).as_secs(), by: made.by })
    }
}
