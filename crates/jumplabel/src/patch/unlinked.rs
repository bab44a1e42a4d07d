//! Objects whose sites were built as plain jumps, and that `jumplabel link` has not changed. Some of these sites should fall through at first, but
//! still jump. The object's constructor sets these sites to the states of their keys before a thread can run them. If that fails, the constructor
//! aborts the process, because a thread would take the wrong arm.

use super::patchable;
use super::patchable::{Comparison, complaint, nothing};
use crate::error::Error;
use crate::format::Object;
use crate::platform::{Held, Objects};
use crate::site::{index, readable};

/// Checks the sites of `object` that `jumplabel link` should have changed, after the library tried to set them to the states of their keys. `tried`
/// is the result of that try. Returns `Ok` if each of these sites does what its key says. Otherwise returns the error in `tried` or, if `tried` is
/// not an error, the error of the first site that does not do what its key says.
pub(crate) fn demand_right<T>(object: &Object, tried: Result<T, Error>, held: &Held<Objects>) -> Result<(), Error> {
    let lost = index::unsound(object, held).find(|entry| entry.is_unlinked());
    if let Some(entry) = lost {
        return Err(Error::DamagedTable { entry: core::ptr::from_ref(entry) as usize });
    }
    for (entry, address) in index::sound(object, held).filter(|(entry, _)| entry.is_unlinked()) {
        // SAFETY: the index found the entry sound, and the lock is held. The object of the entry's patchable was loaded before this object.
        let Some(patchable) = (unsafe { patchable::of(entry, address) }) else { continue };
        if let Some(address) = readable::hidden(entry) {
            return Err(Error::Unreadable { address });
        }
        let setting = patchable.setting();
        // SAFETY: the index found the entry sound, and the lock keeps its object loaded.
        let compared = unsafe { Comparison::at(entry, patchable, setting, false, nothing) };
        if compared.is_ok_and(|compared| compared.change.is_none()) {
            continue;
        }
        // SAFETY: the index found the entry sound, and the lock keeps its object loaded.
        return Err(tried.err().unwrap_or_else(|| unsafe { complaint(entry, patchable, setting) }));
    }
    Ok(())
}
