//! The last change that the agent made of each key and mode, and who asked for it.
//!
//! A list shows the change of a key as long as the key has the state that the change set. The agent does not hear of changes that the program makes
//! itself: if the program turns a key off and on again, lists still show the agent's change.

use std::collections::VecDeque;
use std::time::Instant;

use crate::change::Change;
use crate::protocol::{Peer, Since};
use crate::subject::Subject;

/// The largest number of changes that the agent remembers: the latest ones.
const MOST: usize = 4096;

struct Made {
    when: Instant,
    by: Option<Peer>,
    address: usize,
    name: String,
    /// The state that the change set.
    state: String,
}

/// The last change of each subject, with the latest change at the end.
#[derive(Default)]
pub struct Changes(VecDeque<Made>);

impl Changes {
    /// Notes the changes that a transaction has made. They replace earlier changes of the same subjects.
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

    /// The last change of a subject. `None` if the agent remembers no change of it, or if the subject does not have the state that the change set.
    pub fn of(&self, subject: &Subject, now: Instant) -> Option<Since> {
        let is_it = |made: &&Made| made.address == subject.address && made.name == subject.name;
        let made = self.0.iter().find(is_it).filter(|made| made.state == subject.state())?;
        Some(Since { seconds: now.saturating_duration_since(made.when).as_secs(), by: made.by })
    }
}
