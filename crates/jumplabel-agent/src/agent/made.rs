//! The changes that the agent has made: who asked for them, and when they are taken back.

use std::time::Instant;

use super::changes::Changes;
use super::configure::Configured;
use super::reverts::Reverts;
use crate::protocol::Done;
use crate::subject::Subject;

/// The agent's record of its changes.
#[derive(Default)]
pub struct Made {
    /// Changes of keys and modes that are to be taken back.
    pub reverts: Reverts,
    /// The last change of each key and mode, and who asked for it.
    pub changes: Changes,
    /// The configurations of names of layers: who asked for each, and when it is taken back.
    pub configured: Configured,
}

impl Made {
    /// The time at which the next change is to be taken back.
    pub fn next(&self) -> Option<Instant> {
        [self.reverts.next(), self.configured.next()].into_iter().flatten().min()
    }

    /// Postpones all tries to `until`: the agent could not list the subjects, so it does not know which there are.
    pub fn postpone(&mut self, until: Instant) {
        self.reverts.postpone(until);
        self.configured.postpone(until);
    }

    /// Takes back the changes that are due. Refused ones are due again at `again`. Returns what was done, and what was not taken back, with the
    /// reason.
    pub fn take_back(&mut self, all: &[Subject], now: Instant, again: Instant) -> (Vec<Done>, Vec<(String, String)>) {
        let (mut done, mut kept) = self.reverts.carry_out(all, now, again, &mut self.changes);
        let (more, others) = self.configured.carry_out(all, now, again);
        done.extend(more);
        kept.extend(others);
        (done, kept)
    }
}
