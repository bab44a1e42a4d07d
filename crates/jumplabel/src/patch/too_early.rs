//! Takes the lock for a change of patchables, but returns an error if the object of one of them is not registered yet. (If no object at all is
//! registered, `demand_registered` in lock_and_recover.rs returns the error.)
//!
//! ```text
//!   libplugin.so's constructor        the program's constructor
//!     flips a key of the program        registers the program
//!     └─► TooEarly: its sites are       │
//!         not known                     └─► from here on, the same flip works
//! ```
//!
//! If a key lies in no registered object, and a flip finds no site of it, there are two cases. Either the flip comes too early, or the key has no
//! sites, because the program made it at run time or no check of it was linked. Only the dynamic loader can distinguish these cases: the loader finds
//! the object of the key. An object that has a record, and so will be registered, also has a note. The loader is never called under the lock, so the
//! lock is released before the loader is asked. A flip of a key with known sites, or of a key in a registered object, does not ask the loader.

use super::{Lock, Request};
use crate::error::Error;
#[cfg(all(jumplabel_sites, not(target_os = "none")))]
use crate::{
    format::Object,
    site::{index, object},
};

/// Takes the lock if, for each patchable, one of these holds:
/// * the patchable's object is registered, or has no record;
/// * other objects have known sites of the patchable.
///
/// # Errors
/// The errors of [`Lock::take`], and [`Error::TooEarly`].
#[cfg(all(jumplabel_sites, not(target_os = "none")))]
#[inline(never)]
pub(crate) fn locked(requests: &[Request<'_>]) -> Result<Lock, Error> {
    let (mut first, mut has_record) = (0, false);
    loop {
        let lock = Lock::take()?;
        let mut rest = requests.iter().enumerate().skip(first);
        let Some((place, request)) = rest.find(|(_, request)| !is_known(request, &lock)) else { return Ok(lock) };
        // The loader has said that this patchable's object has a record. The lock was taken again since then, but the object is still not registered.
        if has_record && place == first {
            return Err(Error::TooEarly);
        }
        let platform = lock.platform();
        drop(lock);
        has_record = platform.has_record(request.patchable.address());
        first = place + usize::from(!has_record);
    }
}

/// Takes the lock, and checks no object. In a build without sites, no site can be missing. In a kernel, the platform registers each object before
/// any code of the object runs.
#[cfg(any(not(jumplabel_sites), target_os = "none"))]
pub(crate) fn locked(_: &[Request<'_>]) -> Result<Lock, Error> {
    Lock::take()
}

/// Whether the patchable has sites in a registered object, or lies in one. (Sites are enough: if the loader has copied a library's key into the
/// program, or the program overrides the key, the library can change the key before the program is registered.) For each object, the index is asked
/// first: the change needs the index anyway, but the object's bounds cost a look at program headers.
#[cfg(all(jumplabel_sites, not(target_os = "none")))]
#[inline(never)]
fn is_known(request: &Request<'_>, lock: &Lock) -> bool {
    let (address, held) = (request.patchable.address(), &lock.objects);
    let is_in = |object: &Object| object.image(held).is_none_or(|image| image.bounds().contains(&address));
    object::all(held).any(|object| index::count(object, address, held) != Ok(0) || is_in(object))
}
