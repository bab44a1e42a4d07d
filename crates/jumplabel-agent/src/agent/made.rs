//! The changes that the agent has made: who asked for them, and when they are taken back.

use std::time::Instant;

use super::changes::Changes;
use super::configure::Configured;
use super::reverts::Reverts;
use crate::protocol::Done;
use crate::subject::Subject;

/// What the agent knows of changes that it has made.
#[derive(Default)]
pub struct Made {
    /// What is taken back.
    pub reverts: Reverts,
    /// Who made what it is.
    pub changes: Changes,
    /// The same of names of layers.
    pub configured: Configured,
}

impl Made {
    /// When the next change is to be taken back.
    pub fn next(&self) -> Option<Instant> {
        [self.reverts.next(), self.configured.next()].into_iter().flatten().min()
    }

    /// Tries what is due later, because nobody knows what there is.
    pub fn postpone(&mut self, until: Instant) {
        self.reverts.postpone(until);
        self.configured.postpone(until);
    }

    /// Takes back what is due; tries again at `again` what is refused. What was done, and what was not, with the reason.
    pub fn take_back(&mut self, all: &[Subject], now: Instant, again: Instant) -> (Vec<Done>, Vec<(String, String)>) {
        let (mut done, mut kept) = self.reverts.carry_out(all, now, again, &mut self.changes);
        let (more, others) = self.configured.carry_out(all, now, again);
        done.extend(more);
        kept.extend(others);
        (done, kept)
    }
}
