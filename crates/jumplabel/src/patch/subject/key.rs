//! Keys as subjects: a change is one of [`Change`], an aim is 1 for on.

use super::Subject;
use crate::error::Error;
use crate::format::Entry;
use crate::key::count::{self, Change, Transition};
use crate::key::raw::RawKey;
use crate::text::{Held, Objects};

impl Subject for RawKey {
    fn address(&self) -> usize {
        self.address()
    }

    fn begin(&self, change: usize, _: &Held<Objects>) -> Result<Option<usize>, Error> {
        Ok(match count::begin(self.word(), Change::of(change))? {
            Transition::Done => None,
            Transition::TurnOff => Some(0),
            Transition::TurnOn => Some(1),
        })
    }

    fn aim(&self) -> usize {
        usize::from(self.is_enabled())
    }

    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        usize::from(entry.jumps(aim != 0))
    }

    fn publish(&self, change: usize, aim: Option<usize>) {
        let transition = match aim {
            None => Transition::Done,
            Some(0) => Transition::TurnOff,
            Some(_) => Transition::TurnOn,
        };
        count::publish(self.word(), transition);
        if count::clears_due(Change::of(change), transition) {
            self.set_due(false);
        }
    }

    fn abandon(&self) {
        count::abandon(self.word());
    }

    fn is_eventual(&self) -> bool {
        self.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.set_eventual(eventual);
    }
}
