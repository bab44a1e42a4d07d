//! Keys as patchables. The number of a change is a [`Change`] as a number. The setting is 1 for on, and 0 for off. An action is 1 for a jump, and 0
//! to fall through. A site that can load can jump to two places, its stub and its arm. So its action for a jump is the address of its arm instead of
//! 1.

use super::{Effect, Patchable};
use crate::error::Error;
use crate::format::Entry;
use crate::platform::{Held, Objects};
use crate::raw::count::{self, Change, Transition};
use crate::raw::key::RawKey;

impl Patchable for RawKey {
    fn address(&self) -> usize {
        self.address()
    }

    fn begin(&self, change: usize, _: &Held<Objects>) -> Result<Effect, Error> {
        let change = Change::of(change);
        Ok(match count::begin(self.word(), change)? {
            Transition::Done => Effect::Same(Patchable::setting(self)),
            Transition::Join => Effect::Joins,
            Transition::Leave => Effect::Left,
            Transition::TurnOff => Effect::New(0),
            Transition::TurnOn => Effect::New(1),
        })
    }

    fn setting(&self) -> usize {
        usize::from(self.is_enabled())
    }

    fn action(&self, setting: usize, entry: &Entry) -> usize {
        match entry.jumps(setting != 0) {
            true if entry.loads() => entry.arm_address(),
            jumps => usize::from(jumps),
        }
    }

    /// For a site that can load: number 0 is the jump to its stub, as the compiler emits it. Number 1 is the jump to its arm. In a process that was
    /// forked in mid-change, a site can hold that jump although its key says that the site falls through.
    fn emitted(&self, entry: &Entry, number: usize) -> Option<usize> {
        (number < 2 && entry.loads()).then(|| if number == 0 { entry.target() } else { entry.arm_address() })
    }

    fn publish(&self, change: usize, setting: Option<usize>) {
        let transition = match setting {
            None => Transition::Done,
            Some(0) => Transition::TurnOff,
            Some(_) => Transition::TurnOn,
        };
        let change = Change::of(change);
        if setting.is_some() || change.names_a_state() {
            self.set_lent(false);
        }
        count::publish(self.word(), transition);
        if count::clears_due(change, transition) {
            self.set_due(false);
        }
    }

    fn add_user(&self) {
        count::add(self.word());
    }

    fn abandon(&self) {
        count::abandon(self.word());
    }

    fn notice_number(&self) -> usize {
        self.address()
    }

    fn is_eventual(&self) -> bool {
        self.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.set_eventual(eventual);
    }
}
