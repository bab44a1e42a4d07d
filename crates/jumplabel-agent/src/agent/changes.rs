//! The last change of each key and mode that the agent has made, and who asked for it.
//!
//! It is shown while the key has the value of that change. The agent does not see what the program changes: if the program turns a key off
//! and on again, the earlier change is still shown.

use std::collections::VecDeque;
use std::time::Instant;

use crate::change::Change;
use crate::protocol::{Peer, Since};
use crate::subject::Subject;

/// So many are kept; of more, the latest.
const MOST: usize = 4096;

struct Made {
    when: Instant,
    by: Option<Peer>,
    address: usize,
    name: String,
    /// What it was made.
    state: String,
}

/// All of them, the latest last.
#[derive(Default)]
pub struct Changes(VecDeque<Made>);

impl Changes {
    /// Notes what a transaction has made.
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

    /// The last of a subject, if that is still so.
    pub fn of(&self, subject: &Subject, now: Instant) -> Option<Since> {
        let is_it = |made: &&Made| made.address == subject.address && made.name == subject.name;
        let made = self.0.iter().find(is_it).filter(|made| made.state == subject.state())?;
        Some(Since { seconds: now.saturating_duration_since(made.when).as_secs(), by: made.by })
    }
}
