//! Sets sites to the states of their keys after an object was loaded or a process was forked. When an object is unloaded, forgets everything that
//! leads into that object.

use core::ops::Range;

use super::in_flight::TRANSACTION;
use super::purpose::Purpose;
use super::transaction::transaction;
use super::{Lock, Outcome};
use crate::error::Error;
use crate::format::{Object, Runtime};
use crate::platform::RUNTIME;
use crate::site::object;

/// Sets the sites of a newly loaded object to the state of their keys. Some sites must not change while another thread could execute them. If other
/// threads run, and `remap` cannot write these sites, the sites stay as they are.
#[inline(never)]
pub(crate) fn catch_up(object: &Object, lock: &mut Lock) -> Result<Outcome, Error> {
    transaction(&[], lock, &|_, plan, held| plan.collect_object(object, Purpose::CatchUp, held))
}

/// Repairs a process that was forked while another thread could flip. Fork copies memory page by page, so the phase, the counts and the sites in the
/// child can be from different moments. The counts decide: this function makes the sites agree with the counts. If that fails for a site, the next
/// flip of its key meets the same error.
#[cfg(not(target_os = "none"))]
#[cold]
pub(super) fn repair_after_fork(lock: &mut Lock) {
    catch_up_all(lock);
    tell_others(lock);
}

/// Makes the other instances of the library set the sites of all objects to the states of their patchables. This instance may not know all kinds of
/// patchables, but another one may. (An instance that knows only keys does nothing when it is told.)
#[inline(never)]
pub(crate) fn tell_others(lock: &Lock) {
    let others = object::runtimes(&lock.objects).filter(|runtime| !core::ptr::eq(*runtime, &raw const RUNTIME));
    others.for_each(|runtime| runtime.tell(0, 0));
}

/// Sets the sites of all objects to the states of their patchables. Leaves out sites of kinds that this instance of the library does not know.
pub(super) fn catch_up_all(lock: &mut Lock) {
    for object in object::runtimes(&lock.objects).flat_map(Runtime::objects) {
        let _ = catch_up(object, lock);
    }
}

/// Frees the memory of this instance's lists, because the instance is about to be unloaded.
pub(crate) fn release_lists(lock: &mut Lock) {
    let (platform, state) = (lock.platform(), TRANSACTION.get(&mut lock.patch));
    state.plan.free(platform);
    state.in_flight.free(platform);
}

/// Forgets the object at `addresses`, which is about to be unloaded. The object's record is already off the list. If the plan still has sites of the
/// object that a failed flip could not restore, drops them. Then tells the instances of the library, which set static calls that lead into the object
/// to their defaults. (If the object's bounds are not known, the instances are not told.)
pub(crate) fn unload(addresses: &Range<usize>, lock: &mut Lock) {
    TRANSACTION.get(&mut lock.patch).plan.retain(&|change| !addresses.contains(&change.address));
    if addresses.start != 0 {
        // Each instance, also this one, makes its own `Lock` in this call. The `Lock` of this instance borrows nothing that is borrowed here.
        object::runtimes(&lock.objects).for_each(|runtime| runtime.tell(addresses.start, addresses.end));
    }
}
