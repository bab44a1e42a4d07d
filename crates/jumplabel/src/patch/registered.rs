//! The lock for changes of patchables whose object may not be registered yet.
//!
//! ```text
//!   libplugin.so's constructor        the program's constructor
//!     flips a key of the program        registers the program
//!     └─► TooEarly: its sites are       │
//!         not known                     └─► from here on, the same flip works
//! ```
//!
//! A flip that finds no site of a key that lies in no registered object may come too early, or the key has no sites: the program made it at
//! run time, or no check of it was linked. Only the dynamic loader can tell these apart, by the note of an object with a record, and it is
//! never called under the lock. Flips of keys with known sites, and of keys in registered objects, ask nobody.

use super::{Lock, Request};
use crate::error::Error;
#[cfg(all(jumplabel_sites, not(target_os = "none")))]
use crate::{
    format::Object,
    site::{index, object},
};

/// Takes the lock, if the object of each patchable is registered, or has no record, or sites of it are known in other objects.
///
/// # Errors
/// As [`Lock::take`]; [`Error::TooEarly`].
#[cfg(all(jumplabel_sites, not(target_os = "none")))]
#[inline(never)]
pub(crate) fn locked(requests: &[Request<'_>]) -> Result<Lock, Error> {
    let (mut first, mut has_record) = (0, false);
    loop {
        let lock = Lock::take()?;
        let mut rest = requests.iter().enumerate().skip(first);
        let Some((place, request)) = rest.find(|(_, request)| !is_known(request, &lock)) else { return Ok(lock) };
        // Asked before, and it was not registered meanwhile.
        if has_record && place == first {
            return Err(Error::TooEarly);
        }
        let platform = lock.platform();
        drop(lock);
        has_record = platform.has_record(request.patchable.address());
        first = place + usize::from(!has_record);
    }
}

/// Without sites, none can be missing; a kernel's platform registers what it loads before anything of that runs.
#[cfg(any(not(jumplabel_sites), target_os = "none"))]
pub(crate) fn locked(_: &[Request<'_>]) -> Result<Lock, Error> {
    Lock::take()
}

/// Whether the patchable has sites in a registered object, or lies in one. (If the loader has given the program a copy of a library's key,
/// or the program overrides it, the library may change it before the program is registered.) Of an object, the index is asked first: the
/// change asks it anyway, and bounds are read from program headers.
#[cfg(all(jumplabel_sites, not(target_os = "none")))]
#[inline(never)]
fn is_known(request: &Request<'_>, lock: &Lock) -> bool {
    let (address, held) = (request.patchable.address(), &lock.objects);
    let is_in = |object: &Object| object.image(held).is_none_or(|image| image.bounds().contains(&address));
    object::all(held).any(|object| index::count(object, address, held) != Ok(0) || is_in(object))
}
