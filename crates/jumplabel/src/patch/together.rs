//! Patch points that change together, in all objects. Those of one object name a key of the object's; a transaction changes these keys.

use super::{Lock, Outcome, Patchable, Request, commit_locked};
use crate::error::Error;
use crate::format::Entry;
use crate::platform::list::Owned;
use crate::raw::count::Change;
use crate::raw::key::RawKey;
use crate::site::{index, object};

/// Carries out a change of each key that entries of a sort name. All or nothing. `patchable`: what such a key is to a transaction.
///
/// # Safety
/// Entries of this sort name keys.
pub(crate) unsafe fn commit_all(
    is_one: fn(&Entry) -> bool,
    patchable: fn(&'static RawKey) -> &'static dyn Patchable,
    change: Change,
    lock: &mut Lock,
) -> Result<Outcome, Error> {
    let mut requests = Owned::new(lock.platform());
    let mut last = 0;
    // In the order of their addresses, so that each comes once.
    while let Some(next) = addresses(is_one, lock).filter(|key| *key > last).min() {
        // SAFETY: the caller says that such entries name keys. The lock keeps the key's object loaded meanwhile.
        let key = unsafe { &*(next as *const RawKey) };
        requests.push(Request::new(patchable(key), change as usize))?;
        last = next;
    }
    commit_locked(requests.list.as_mut_slice(), lock)
}

/// Of the keys that such entries name, one for each entry.
fn addresses(is_one: fn(&Entry) -> bool, lock: &Lock) -> impl Iterator<Item = usize> {
    let entries = object::all(&lock.objects).flat_map(|object| index::sound(object, &lock.objects));
    entries.filter(move |(entry, _)| is_one(entry)).map(|(_, key)| key)
}
