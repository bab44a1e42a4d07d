//! Objects whose sites were built as plain jumps, and that `jumplabel link` has not seen: before anybody runs such a site, it is brought to
//! the state of its key, as the sites of keys in other objects are. If that fails, nobody may run it.

use super::subject;
use super::subject::{Found, complaint};
use crate::error::Error;
use crate::format::Object;
use crate::site::index;
use crate::text::{Held, Objects};

/// Whether those sites of `object` do what their keys say, after it was tried to bring them there, with what came of that.
pub(crate) fn verify<T>(object: &Object, tried: Result<T, Error>, held: &Held<Objects>) -> Result<(), Error> {
    let lost = index::unsound(object, held).find(|entry| entry.is_unlinked());
    if let Some(entry) = lost {
        return Err(Error::DamagedTable { entry: core::ptr::from_ref(entry) as usize });
    }
    for (entry, address) in index::sound(object, held).filter(|(entry, _)| entry.is_unlinked()) {
        // SAFETY: an entry that was looked at, under the lock; the object of its subject was loaded before this one.
        let Some(subject) = (unsafe { subject::of(entry, address) }) else { continue };
        let aim = subject.aim();
        // SAFETY: the same.
        let found = unsafe { Found::at(entry, subject, aim, false, |_, _| None) };
        if found.is_ok_and(|found| found.edit.is_none()) {
            continue;
        }
        // SAFETY: the same.
        return Err(tried.err().unwrap_or_else(|| unsafe { complaint(entry, subject, aim) }));
    }
    Ok(())
}
