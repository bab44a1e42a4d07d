//! Transactions: the only place that changes code.
//!
//! ```text
//!  lock      one for the process; signals blocked; re-entry by the same thread is an error
//!  begin     each key's counter says what the change comes to; keys that go off close their lock-free way
//!  collect   the sites of all keys, from the index, merged, sorted by address, deduplicated
//!  verify    each site holds one of its legal states, all bytes, else ForeignBytes; nothing is written yet
//!  open      the writer makes all pages writable (mprotect), or only its own descriptor (procmem), or copies them (remap)
//!  steps     the writes of each step, a core sync after each: one step, or three if a site is pristine;
//!            if a write is refused, the steps before it are undone, and the next writer is tried
//!  close     protections back
//!  publish   counts change only now
//! ```
//!
//! On an error after `begin`, counts and sites are as before. Between `open` and `close` nothing here allocates, calls the
//! dynamic loader, or runs the program's code.

mod carry_out;
#[cfg(jumplabel_sites)]
mod collect;
mod hand_over;
pub(crate) mod in_flight;
mod lock;
pub(crate) mod patchable;
mod plan;
mod prepare;
mod purpose;
mod registered;
mod schedule;
mod site_change;
mod stay;
mod steps;
#[cfg(jumplabel_prefixes)]
mod together;
mod undo;
#[cfg(jumplabel_short_engine)]
mod unlinked;

use core::time::Duration;

use crate::error::Error;
use crate::platform::{Guarded, Held, Objects, Patch, Visibility, Warnings, WriterKind};
use crate::site::readable;
#[cfg(jumplabel_sites)]
use crate::{format::Runtime, platform::RUNTIME, site::object};
use carry_out::carry_out;
pub use lock::Lock;
#[cfg(jumplabel_sites)]
pub(crate) use lock::set_registered;
pub(crate) use patchable::{LENT, LentKey, Patchable, RETURNED};
pub use patchable::{Request, Settable};
use plan::Plan;
pub use prepare::{prepare, probe};
#[cfg(jumplabel_sites)]
use purpose::Purpose;
pub(crate) use registered::locked;
pub use stay::verify;
pub(crate) use stay::{restore_pristine, verify_one};
#[cfg(jumplabel_prefixes)]
pub(crate) use together::commit_all;
#[cfg(jumplabel_short_engine)]
pub(crate) use unlinked::demand_right;

/// What is kept between transactions, and what an unfinished one leaves.
struct Transaction {
    plan: Plan,
    in_flight: in_flight::InFlight,
}

static TRANSACTION: Guarded<Transaction, Patch> =
    Guarded::new(Transaction { plan: Plan::new(), in_flight: in_flight::InFlight::new() });

/// What a flip did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Sites whose instruction was changed.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Sites that were pristine: they cost two more core syncs for the whole batch, once.
    pub primed: usize,
    /// Sites of keys declared `or_load` that could do without loading and go on with it, because the system refused to patch them; see
    /// [`OrLoadKey`](crate::OrLoadKey).
    pub loading: usize,
    /// What wrote; `None` if no site had to change.
    pub writer: Option<WriterKind>,
    /// When other threads see it. If there was nothing to write: when they see the flip that wrote it.
    pub visibility: Visibility,
    /// What went wrong without being an error.
    pub warnings: Warnings,
    /// From the moment at which the lock is held until the last protection is back.
    pub time: Duration,
}

/// Carries out `requests`, all or nothing. Reorders them.
#[inline(never)]
pub(crate) fn commit(requests: &mut [Request<'_>]) -> Result<Outcome, Error> {
    commit_locked(requests, &mut locked(requests)?)
}

/// [`commit`] for a caller that holds the lock.
pub(crate) fn commit_locked(requests: &mut [Request<'_>], lock: &mut Lock) -> Result<Outcome, Error> {
    let requests = plan::last_wins(requests);
    let mut shortcuts = true;
    loop {
        let outcome = transaction(requests, lock, &|requests, plan, held| begin_all(requests, plan, shortcuts, held));
        let refused = matches!(outcome, Err(Error::Denied { .. } | Error::NoWriter));
        if !(refused && shortcuts && TRANSACTION.get(&mut lock.patch).plan.has_shortcuts()) {
            return outcome;
        }
        shortcuts = false;
    }
}

/// What the closure does. A closure that is called through a pointer may be in the program several times, with all that is inline in it.
#[inline(never)]
fn begin_all(
    requests: &mut [Request<'_>],
    plan: &mut Plan,
    shortcuts: bool,
    held: &Held<Objects>,
) -> Result<(), Error> {
    requests.iter_mut().try_for_each(|request| request.begin(held))?;
    plan.collect(requests, shortcuts, held)
}

/// Brings the sites of an object that was just loaded to the state of their keys. If other threads run, and a site may not change before
/// their eyes and cannot be changed in another way, it is left as it is.
#[cfg(jumplabel_sites)]
#[inline(never)]
pub(crate) fn catch_up(object: &crate::format::Object, lock: &mut Lock) -> Result<Outcome, Error> {
    transaction(&mut [], lock, &|_, plan, held| plan.collect_object(object, Purpose::CatchUp, held))
}

/// Repairs a process that was forked while somebody could flip. Memory is copied page by page, so the phase, the counts
/// and the sites can be of different moments. The counts decide. If a site cannot be brought to its key's state, the next
/// flip of the key meets the same error.
#[cfg(jumplabel_sites)]
#[cold]
fn repair_after_fork(lock: &mut Lock) {
    catch_up_all(lock);
    tell_others(lock);
}

/// Lets other instances of the library bring these sites to their states, if they have changed something other than keys:
/// only such instances have the code for that.
#[cfg(jumplabel_sites)]
#[inline(never)]
pub(crate) fn tell_others(lock: &Lock) {
    let others = object::runtimes(&lock.objects).filter(|runtime| !core::ptr::eq(*runtime, &raw const RUNTIME));
    others.for_each(|runtime| runtime.tell(0, 0));
}

/// Brings the sites of all objects to the state of their patchables, as far as this instance of the library knows those.
#[cfg(jumplabel_sites)]
fn catch_up_all(lock: &mut Lock) {
    for object in object::runtimes(&lock.objects).flat_map(Runtime::objects) {
        let _ = catch_up(object, lock);
    }
}

/// Under the lock: whether all threads see the sites of these patchables as they are, at the latest by a core sync now.
#[inline(never)]
pub(crate) fn sync_again(requests: &[Request<'_>], held: &mut Held) -> Visibility {
    if !requests.iter().any(|request| request.patchable.is_eventual()) {
        return Visibility::Immediate;
    }
    if held.platform().core_sync(held).is_err() {
        return Visibility::Eventual;
    }
    requests.iter().for_each(|request| request.patchable.set_eventual(false));
    Visibility::Immediate
}

/// This instance of the library is about to be unloaded: gives back what its lists hold.
#[cfg(jumplabel_sites)]
pub(crate) fn release_lists(lock: &mut Lock) {
    let (platform, state) = (lock.platform(), TRANSACTION.get(&mut lock.patch));
    state.plan.free(platform);
    state.in_flight.free(platform);
}

/// The object at `addresses`, which is in no list any more, is about to be unloaded: forgets the sites in it that could not be
/// restored.
#[cfg(jumplabel_sites)]
pub(crate) fn unload(addresses: &core::ops::Range<usize>, lock: &mut Lock) {
    TRANSACTION.get(&mut lock.patch).plan.retain(&|change| !addresses.contains(&change.address));
    if addresses.start != 0 {
        // What another instance makes of it borrows nothing of what is borrowed here through this lock.
        object::runtimes(&lock.objects).for_each(|runtime| runtime.tell(addresses.start, addresses.end));
    }
}

/// Fills the plan. Called through a pointer, so that there is one `transaction` and not one for each caller.
type Collect<'a> = dyn Fn(&mut [Request<'_>], &mut Plan, &Held<Objects>) -> Result<(), Error> + 'a;

/// Collects, writes, and publishes or abandons.
#[inline(never)]
fn transaction(requests: &mut [Request<'_>], lock: &mut Lock, collect: &Collect<'_>) -> Result<Outcome, Error> {
    let platform = lock.platform();
    let start = platform.now();
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    let (objects, held) = (&lock.objects, &mut lock.platform_state);
    if let Some(address) = in_flight::stuck_at(plan) {
        return Err(Error::RollbackFailed { address });
    }
    plan.clear();
    readable::forget();
    in_flight.begin(requests, platform)?;
    let mut outcome = collect(requests, plan, objects).and_then(|()| {
        requests.iter().for_each(Request::expose);
        carry_out(plan, held)
    });
    match &mut outcome {
        Ok(outcome) => {
            in_flight.publishing(requests, platform);
            // Sites that load see the count when it is published: as with a step, a core sync follows. Until it has, whoever comes
            // by a lock-free `inc` waits for it.
            let loads = plan.loads();
            if loads {
                outcome.visibility = Visibility::Eventual;
            } else if outcome.writer.is_none() {
                outcome.visibility = sync_again(requests, held);
            }
            requests.iter().for_each(|request| request.publish(Some(outcome.visibility)));
            if loads {
                outcome.visibility = sync_again(requests, held);
            }
            outcome.time = platform.now().saturating_sub(start);
        }
        Err(error) => {
            // Other threads see what was undone without a core sync as they see what is done without one.
            if matches!(error, Error::Denied { .. } | Error::RollbackFailed { .. }) && !platform.is_synced() {
                requests.iter().for_each(|request| request.patchable.set_eventual(true));
            }
            // Requests behind one that was refused were not begun: `abandon` does nothing to them.
            requests.iter().for_each(|request| request.patchable.abandon());
        }
    }
    if let Err(Error::RollbackFailed { .. }) = outcome {
        in_flight.stuck();
        return outcome;
    }
    in_flight::done();
    plan.shrink(platform);
    outcome
}
