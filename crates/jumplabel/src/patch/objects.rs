//! Objects come and go, and processes fork: sites follow their keys.

use core::ops::Range;

use super::in_flight::TRANSACTION;
use super::purpose::Purpose;
use super::transaction::transaction;
use super::{Lock, Outcome};
use crate::error::Error;
use crate::format::{Object, Runtime};
use crate::platform::RUNTIME;
use crate::site::object;

/// Brings the sites of an object that was just loaded to the state of their keys. If other threads run, and a site may not change before
/// their eyes and cannot be changed in another way, it is left as it is.
#[inline(never)]
pub(crate) fn catch_up(object: &Object, lock: &mut Lock) -> Result<Outcome, Error> {
    transaction(&mut [], lock, &|_, plan, held| plan.collect_object(object, Purpose::CatchUp, held))
}

/// Repairs a process that was forked while somebody could flip. Memory is copied page by page, so the phase, the counts
/// and the sites can be of different moments. The counts decide. If a site cannot be brought to its key's state, the next
/// flip of the key meets the same error.
#[cold]
pub(super) fn repair_after_fork(lock: &mut Lock) {
    catch_up_all(lock);
    tell_others(lock);
}

/// Lets other instances of the library bring these sites to their states, if they have changed something other than keys:
/// only such instances have the code for that.
#[inline(never)]
pub(crate) fn tell_others(lock: &Lock) {
    let others = object::runtimes(&lock.objects).filter(|runtime| !core::ptr::eq(*runtime, &raw const RUNTIME));
    others.for_each(|runtime| runtime.tell(0, 0));
}

/// Brings the sites of all objects to the state of their patchables, as far as this instance of the library knows those.
pub(super) fn catch_up_all(lock: &mut Lock) {
    for object in object::runtimes(&lock.objects).flat_map(Runtime::objects) {
        let _ = catch_up(object, lock);
    }
}

/// This instance of the library is about to be unloaded: gives back what its lists hold.
pub(crate) fn release_lists(lock: &mut Lock) {
    let (platform, state) = (lock.platform(), TRANSACTION.get(&mut lock.patch));
    state.plan.free(platform);
    state.in_flight.free(platform);
}

/// The object at `addresses`, which is in no list any more, is about to be unloaded: forgets the sites in it that could not be
/// restored.
pub(crate) fn unload(addresses: &Range<usize>, lock: &mut Lock) {
    TRANSACTION.get(&mut lock.patch).plan.retain(&|change| !addresses.contains(&change.address));
    if addresses.start != 0 {
        // What another instance makes of it borrows nothing of what is borrowed here through this lock.
        object::runtimes(&lock.objects).for_each(|runtime| runtime.tell(addresses.start, addresses.end));
    }
}
