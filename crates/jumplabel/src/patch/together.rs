//! Changes all sites of one sort in all objects, for example all alternatives. In each object, all entries of the sort name one key of that object.
//! One transaction changes these keys.

use super::lock::NOTICES;
use super::{Lock, Outcome, Patchable, Request, commit_locked};
use crate::error::Error;
use crate::format::Entry;
use crate::platform::list::Owned;
use crate::platform::notices::NOBODY;
use crate::raw::count::Change;
use crate::raw::key::RawKey;
use crate::site::{index, object};

/// Carries out `change` for each key that is named by entries of one sort, all or nothing. `is_one` says whether an entry is of that sort.
/// `patchable` returns a key as a patchable. Returns an error if the library cannot rely on one of these entries, because that entry may be the only
/// one that names its key.
///
/// # Safety
/// All entries for which `is_one` returns true name keys.
pub(crate) unsafe fn commit_all(
    is_one: fn(&Entry) -> bool,
    patchable: fn(&'static RawKey) -> &'static dyn Patchable,
    change: Change,
    lock: &mut Lock,
) -> Result<Outcome, Error> {
    object::all(&lock.objects).try_for_each(|object| index::demand_sound(object, None, is_one, &lock.objects))?;
    let mut requests = Owned::new(lock.platform());
    let mut last = 0;
    // The loop takes the keys in the order of their addresses, and so takes each key once.
    while let Some(next) = addresses(is_one, lock).filter(|key| *key > last).min() {
        // SAFETY: the caller says that such entries name keys. The lock keeps the key's object loaded.
        let key = unsafe { &*(next as *const RawKey) };
        requests.push(Request::new(patchable(key), change as usize))?;
        last = next;
    }
    // These keys belong to the library itself, so no notices are sent. (The lock was taken only for these keys, so there are no other notices.)
    NOTICES.get(&mut lock.objects).by = NOBODY;
    commit_locked(&requests.list, lock)
}

/// The address of the key of each entry for which `is_one` returns true. The same key can come several times.
fn addresses(is_one: fn(&Entry) -> bool, lock: &Lock) -> impl Iterator<Item = usize> {
    index::all_sound(&lock.objects).filter(move |(entry, _)| is_one(entry)).map(|(_, key)| key)
}
