//! Changes for a while, which somebody outside the program makes, as an agent does.
//!
//! ```text
//!   LENT      the state changes, and the patchable notes that it is lent
//!   RETURNED  takes that back, if the patchable is lent still; else it does nothing
//!   others    the program has asked for something, be it the state that there is: the patchable is lent no more
//! ```
//!
//! The note is a flag of the patchable, so that every instance of the library knows, and it changes under the lock.

use super::{Effect, Patchable};
use crate::error::Error;
use crate::format::Entry;
use crate::platform::{Held, Objects};
use crate::raw::count::{self, Change, Transition};
use crate::raw::key::RawKey;

/// Beside the number of a change: it is for a while.
pub(crate) const LENT: usize = 1 << 16;
/// Beside the number of a change: it ends one that was for a while.
pub(crate) const RETURNED: usize = 1 << 17;

/// The number alone.
pub(crate) const fn number(change: usize) -> usize {
    change & !(LENT | RETURNED)
}

/// Whether a change has nothing to do, because the program has asked for something since.
pub(crate) const fn is_over(change: usize, is_lent: bool) -> bool {
    change & RETURNED != 0 && !is_lent
}

/// Whether the patchable is lent behind a change. `takes`: the change has made it what it is. `asks`: it would end a loan if it is the
/// program's.
pub(crate) const fn is_lent(change: usize, before: bool, takes: bool, asks: bool) -> bool {
    match change {
        _ if change & LENT != 0 => before || takes,
        _ if change & RETURNED != 0 => false,
        _ => before && !asks,
    }
}

/// A key, as whoever changes it for a while sees it. (What changes it otherwise needs no code for that, but ends it.)
#[repr(transparent)]
pub(crate) struct LentKey(RawKey);

impl LentKey {
    pub(crate) fn of(key: &RawKey) -> &LentKey {
        // SAFETY: the one has the layout of the other.
        unsafe { &*core::ptr::from_ref(key).cast() }
    }

    /// To take a key back that was turned on for a while takes one user away: the program's are not touched.
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

    fn abandon(&self) {
        self.0.abandon();
    }

    fn is_eventual(&self) -> bool {
        self.0.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.0.set_eventual(eventual);
    }
}
