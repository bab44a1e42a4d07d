//! The alternatives of all objects, applied together.

use super::raw::RawAlternatives;
use crate::error::{Errno, Error};
use crate::key::count::Change;
use crate::patch::{self, Lock, Outcome, Request};
use crate::site::{index, object};
use crate::text::list::Owned;
use crate::text::{Held, Objects};

/// The keys of all objects that have alternatives: one for each entry.
fn keys(held: &Held<Objects>) -> impl Iterator<Item = &'static RawAlternatives> {
    let entries = object::all(held).flat_map(|object| index::sound(object, held));
    let keys = entries.filter(|(entry, _)| entry.is_alternative()).map(|(_, key)| key);
    // SAFETY: the macro emits such a key for such entries. The lock, which keeps its object loaded, is held as long as they are used.
    keys.map(|key| unsafe { &*(key as *const RawAlternatives) })
}

/// In one transaction: if it is refused, no object has changed. With one thread, which is here, and not between two instructions of one.
pub(super) fn apply() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    if !lock.text().is_alone(&mut lock.platform) {
        return Err(Error::MultiThreaded { core_sync: Errno::NONE, swap: Errno::NONE });
    }
    let mut requests = Owned::new(lock.text());
    let mut last = 0;
    while let Some(next) = keys(&lock.objects).filter(|key| key.0.address() > last).min_by_key(|key| key.0.address()) {
        requests.push(Request::new(next, Change::Enable as usize))?;
        last = next.0.address();
    }
    patch::commit_locked(requests.list.as_mut_slice(), &mut lock)
}
