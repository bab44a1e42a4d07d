//! The changes that the agent has made: who asked for them, and when they are taken back.

use std::time::{Duration, Instant};

use super::changes::Changes;
use super::configure::Configured;
use super::reverts::Reverts;
use crate::protocol::Done;
use crate::subject::Subject;

/// All changes that the agent remembers.
#[derive(Default)]
pub struct Made {
    /// The changes of keys and modes that the agent will take back.
    pub reverts: Reverts,
    /// The last change of each key and mode, and who asked for it.
    pub changes: Changes,
    /// The configurations of names of layers: who asked for each, and when it is taken back.
    pub configured: Configured,
}

impl Made {
    /// The time at which the agent takes back the next change. `None` if nothing is pending.
    pub fn next(&self) -> Option<Instant> {
        [self.reverts.next(), self.configured.next()].into_iter().flatten().min()
    }

    /// Lets the agent take back nothing before `until`. Called if the agent could not list the subjects.
    pub fn postpone(&mut self, until: Instant) {
        self.reverts.postpone(until);
        self.configured.postpone(until);
    }

    /// Takes back the changes that are due. Those that are refused are due again after a pause. Returns what was done, and the names that stay as
    /// they are, each with a reason.
    pub fn take_back(&mut self, all: &[Subject], now: Instant, pause: Duration) -> (Vec<Done>, Vec<(String, String)>) {
        let (mut done, mut kept) = self.reverts.carry_out(all, now, pause, &mut self.changes);
        let (more, others) = self.configured.carry_out(all, now, pause);
        done.extend(more);
        kept.extend(others);
        (done, kept)
    }
}
