//! Objects whose sites were built as plain jumps, and that `jumplabel link` has not seen: before anybody runs such a site, it is brought to
//! the state of its key, as the sites of keys in other objects are. If that fails, nobody may run it.

use super::patchable;
use super::patchable::{Comparison, complaint, nothing};
use crate::error::Error;
use crate::format::Object;
use crate::platform::{Held, Objects};
use crate::site::{index, readable};

/// Whether those sites of `object` do what their keys say, after it was tried to bring them there, with what came of that.
pub(crate) fn demand_right<T>(object: &Object, tried: Result<T, Error>, held: &Held<Objects>) -> Result<(), Error> {
    let lost = index::unsound(object, held).find(|entry| entry.is_unlinked());
    if let Some(entry) = lost {
        return Err(Error::DamagedTable { entry: core::ptr::from_ref(entry) as usize });
    }
    for (entry, address) in index::sound(object, held).filter(|(entry, _)| entry.is_unlinked()) {
        // SAFETY: an entry that was looked at, under the lock; the object of its patchable was loaded before this one.
        let Some(patchable) = (unsafe { patchable::of(entry, address) }) else { continue };
        if let Some(address) = readable::hidden(entry) {
            return Err(Error::Unreadable { address });
        }
        let setting = patchable.setting();
        // SAFETY: the same entry and patchable, the same lock.
        let compared = unsafe { Comparison::at(entry, patchable, setting, false, nothing) };
        if compared.is_ok_and(|compared| compared.change.is_none()) {
            continue;
        }
        // SAFETY: the same entry and patchable, the same lock.
        return Err(tried.err().unwrap_or_else(|| unsafe { complaint(entry, patchable, setting) }));
    }
    Ok(())
}
