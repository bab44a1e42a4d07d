//! Changes that last for a while, because someone outside the program asks for them, for example through an agent. During that time the patchable
//! is *lent*.
//!
//! ```text
//!   a change with   what it does
//!   LENT            changes the state, and notes in the patchable that it is lent
//!   RETURNED        takes the LENT change back, if the patchable is still lent; if not, does nothing
//!   neither         is the program's own; if the program asks for a state, even for the present one, the patchable is lent no more
//! ```
//!
//! A flag in the patchable says that the patchable is lent, so every instance of the library sees that. The flag changes only under the lock.

use super::{Effect, Patchable};
use crate::error::Error;
use crate::format::Entry;
use crate::platform::{Held, Objects};
use crate::raw::count::{self, Change, Transition};
use crate::raw::key::RawKey;

/// A flag in the number of a change: this change lends the patchable.
pub(crate) const LENT: usize = 1 << 16;
/// A flag in the number of a change: this change takes a [`LENT`] change back.
pub(crate) const RETURNED: usize = 1 << 17;

/// The number of a change, without the flags [`LENT`] and [`RETURNED`].
pub(crate) const fn number(change: usize) -> usize {
    change & !(LENT | RETURNED)
}

/// Whether a change has nothing to do: the change would end a loan, but the loan has already ended. (A loan also ends when the program asks for a
/// state.)
pub(crate) const fn is_over(change: usize, is_lent: bool) -> bool {
    change & RETURNED != 0 && !is_lent
}

/// Whether the patchable is lent after a change. `before` says whether it was lent before. `takes` says whether this change has changed the
/// patchable's state. `asks` says whether the change asks for a state, so that it ends a loan if the program makes it.
pub(crate) const fn is_lent(change: usize, before: bool, takes: bool, asks: bool) -> bool {
    match change {
        _ if change & LENT != 0 => before || takes,
        _ if change & RETURNED != 0 => false,
        _ => before && !asks,
    }
}

/// A key as a patchable for changes that lend the key. (The program's own changes use `RawKey`. They end a loan, but need none of the code here.)
#[repr(transparent)]
pub(crate) struct LentKey(RawKey);

impl LentKey {
    pub(crate) fn of(key: &RawKey) -> &LentKey {
        // SAFETY: a `LentKey` has the layout of its only field.
        unsafe { &*core::ptr::from_ref(key).cast() }
    }

    /// The change of the key's counter. A loan that turned a key on has added a user to the key. So the end of that loan is a `dec`, and the key's
    /// other users stay.
    fn change(change: usize) -> Change {
        match Change::of(number(change)) {
            Change::Disable if change & RETURNED != 0 => Change::Dec,
            change => change,
        }
    }
}

impl Patchable for LentKey {
    fn address(&self) -> usize {
        self.0.address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Effect, Error> {
        if is_over(change, self.0.is_lent()) {
            return Ok(Effect::None);
        }
        self.0.begin(LentKey::change(change) as usize, held)
    }

    fn setting(&self) -> usize {
        Patchable::setting(&self.0)
    }

    fn action(&self, setting: usize, entry: &Entry) -> usize {
        self.0.action(setting, entry)
    }

    fn emitted(&self, entry: &Entry, number: usize) -> Option<usize> {
        self.0.emitted(entry, number)
    }

    fn publish(&self, change: usize, setting: Option<usize>) {
        let (own, before) = (LentKey::change(change), self.0.is_lent());
        if is_over(change, before) {
            return;
        }
        let turns = setting.is_some_and(|setting| self.0.is_enabled() != (setting != 0));
        let takes_the_place = count::clears_due(own, Transition::Done) && self.0.is_due();
        self.0.publish(own as usize, setting);
        self.0.set_lent(is_lent(change, before, turns || takes_the_place, true));
    }

    fn add_user(&self) {
        self.0.add_user();
    }

    fn abandon(&self) {
        self.0.abandon();
    }

    fn notice_number(&self) -> usize {
        self.0.notice_number()
    }

    fn is_eventual(&self) -> bool {
        self.0.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.0.set_eventual(eventual);
    }
}
