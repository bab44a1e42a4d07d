//! When objects come and go, and when processes fork, sites are brought to the states of their keys.

use core::ops::Range;

use super::in_flight::TRANSACTION;
use super::purpose::Purpose;
use super::transaction::transaction;
use super::{Lock, Outcome};
use crate::error::Error;
use crate::format::{Object, Runtime};
use crate::platform::RUNTIME;
use crate::site::object;

/// Brings the sites of an object that was just loaded to the state of their keys. Some sites must not change while another thread could
/// execute them. If other threads run, and no writer can change such a site without that, the site stays as it is.
#[inline(never)]
pub(crate) fn catch_up(object: &Object, lock: &mut Lock) -> Result<Outcome, Error> {
    transaction(&mut [], lock, &|_, plan, held| plan.collect_object(object, Purpose::CatchUp, held))
}

/// Repairs a process that was forked while another thread could flip. Fork copies memory page by page, so the child can have the phase, the
/// counts and the sites of different moments. The counts decide: the sites are brought to them. If that fails for a site, the next flip of
/// its key meets the same error.
#[cold]
pub(super) fn repair_after_fork(lock: &mut Lock) {
    catch_up_all(lock);
    tell_others(lock);
}

/// Makes the other instances of the library bring the sites of all objects to the states of their patchables. Only instances that have
/// changed something other than a key do that: only they have the code for it.
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

/// Gives back the memory of this instance's lists, because the instance is about to be unloaded.
pub(crate) fn release_lists(lock: &mut Lock) {
    let (platform, state) = (lock.platform(), TRANSACTION.get(&mut lock.patch));
    state.plan.free(platform);
    state.in_flight.free(platform);
}

/// The object at `addresses` is about to be unloaded, and is in no list any more. Forgets those of its sites that could not be restored.
pub(crate) fn unload(addresses: &Range<usize>, lock: &mut Lock) {
    TRANSACTION.get(&mut lock.patch).plan.retain(&|change| !addresses.contains(&change.address));
    if addresses.start != 0 {
        // The other instance makes a `Lock` of its own while it is told. That `Lock` borrows nothing that is borrowed here.
        object::runtimes(&lock.objects).for_each(|runtime| runtime.tell(addresses.start, addresses.end));
    }
}
