//! Records the transaction that is being carried out, so that another thread or process can finish or undo it. That is needed in two cases. Either
//! this process was made by a raw `clone` in the middle of a transaction of its parent. Or a process that shares this memory was killed in the middle
//! of a transaction. In both cases the next thread that takes the lock finds the transaction.
//!
//! ```text
//!            begin                  writing              publishing             done
//!   NOTHING ───────► COLLECTING ──────────► WRITING ────────────► PUBLISHING ───────► NOTHING
//!   if interrupted:  is dropped             is undone             is finished
//! ```
//!
//! If a flip fails and cannot be undone, the phase stays at WRITING until an undo succeeds.
//!
//! The phase is a part of the instance's `Runtime`. A thread that takes the lock finishes or undoes the unfinished transactions of all instances of
//! the library. For that, the thread needs the lists of changes and requests. Each instance keeps these lists in its own memory, because the stack of
//! the thread that flipped can be gone.
//!
//! `fork` waits for the lock, so its child sees the phase NOTHING. (A fork can go on without the lock, for example after it has waited for a
//! second: see `platform/linux/instance`.) If the process was forked without the lock, the phase alone is not enough: see `repair_after_fork`
//! (patch/objects.rs).

use core::sync::atomic::Ordering;

use super::plan::Plan;
use super::requests::{PendingRequest, last_wins};
use super::site_change::SiteChange;
use super::{Lock, Request, undo};
use crate::error::Error;
use crate::format::process;
use crate::platform::instances::{NOTHING, RUNTIME};
use crate::platform::list::List;
use crate::platform::{Guarded, Patch, Platform};
use crate::site::object;

const COLLECTING: u32 = 1;
const WRITING: u32 = 2;
const PUBLISHING: u32 = 3;
// A tool that changes a process from outside can leave the phase `FORCED` in a `Runtime`. No phase here has that number.
const _: () = assert!(PUBLISHING < process::FORCED);

fn set_phase(phase: u32) {
    RUNTIME.phase.store(phase, Ordering::Release);
}

/// The lists of this instance's transactions. If a transaction is interrupted, its changes and requests are still here.
pub(super) struct Transaction {
    pub(super) plan: Plan,
    pub(super) in_flight: InFlight,
}

pub(super) static TRANSACTION: Guarded<Transaction, Patch> =
    Guarded::new(Transaction { plan: Plan::new(), in_flight: InFlight::new() });

/// The number of requests for which the list has room from the beginning. A build without sites and without std has only one block of memory for this
/// list (platform/portable.rs), with room for this number.
const FEW: usize = 32;
// That block has room for 32 requests of six words. A caller gets it only by asking for exactly this number of bytes.
const _: () = assert!(FEW * size_of::<PendingRequest<'_>>() == 32 * 6 * size_of::<usize>());

/// The requests of the transaction that is being carried out.
pub(super) struct InFlight(List<PendingRequest<'static>>);

impl InFlight {
    pub(super) const fn new() -> InFlight {
        InFlight(List::new())
    }

    /// Fills the list with `requests`. If several requests are for one patchable, only the last one is kept.
    #[inline(never)]
    pub(super) fn list(&mut self, requests: &[Request<'_>], platform: &dyn Platform) -> Result<(), Error> {
        self.0.truncate(0);
        self.0.reserve(requests.len().max(FEW), platform)?;
        requests.iter().zip(0..).try_for_each(|(request, order)| {
            // SAFETY: the caller's borrow keeps the patchable until the transaction is over. If the transaction is found unfinished, the patchable
            // still exists, because its object must not be unloaded during a change.
            let request = unsafe { core::mem::transmute::<Request<'_>, Request<'static>>(*request) };
            self.0.push(PendingRequest::new(request, order), platform)
        })?;
        let kept = last_wins(self.0.as_mut_slice());
        self.0.truncate(kept);
        Ok(())
    }

    /// The requests in the list.
    pub(super) fn requests(&mut self) -> &mut [PendingRequest<'static>] {
        self.0.as_mut_slice()
    }

    /// Makes room for the requests of a transaction in advance: for at least [`FEW`].
    pub(super) fn prepare(&mut self, platform: &dyn Platform) -> Result<(), Error> {
        self.0.reserve(FEW, platform)
    }

    /// Records that the sites could not be restored. The next thread that takes the lock tries again. Drops the requests, because they were already
    /// abandoned: their counts are as before.
    pub(super) fn stuck(&mut self) {
        self.0.truncate(0);
        set_phase(WRITING);
    }

    /// Frees the list's memory.
    #[cfg(jumplabel_sites)]
    pub(super) fn free(&mut self, platform: &dyn Platform) {
        self.0.free(platform);
    }
}

/// Records that the plan is being made, for the requests in the list: sets the phase COLLECTING. Until [`writing`], there is nothing to undo.
pub(super) fn collecting() {
    RUNTIME.set_recover(recover_here);
    set_phase(COLLECTING);
}

/// Records that the plan is complete, and that sites will be written.
pub(super) fn writing() {
    set_phase(WRITING);
}

/// Records that all sites are written.
pub(super) fn publishing() {
    set_phase(PUBLISHING);
}

/// Records that the transaction is finished or undone.
pub(super) fn done() {
    set_phase(NOTHING);
}

/// If an earlier transaction is still not undone: the address of the first site in its plan. Otherwise `None`.
pub(super) fn stuck_at(plan: &Plan) -> Option<usize> {
    if RUNTIME.phase.load(Ordering::Acquire) == WRITING { plan.first() } else { None }
}

/// Undoes or finishes the transaction that this instance of the library began. [`Runtime::recover`](crate::format::Runtime) calls this function, with
/// the lock held.
extern "C" fn recover_here() {
    // SAFETY: the thread that takes the lock calls this before this instance has a `Lock`.
    let mut lock = unsafe { Lock::borrowed() };
    if finish(RUNTIME.phase.load(Ordering::Acquire), &mut lock) {
        done();
    }
}

/// Finishes or undoes a transaction that was interrupted in this `phase`. Returns whether that succeeded.
#[cold]
fn finish(phase: u32, lock: &mut Lock) -> bool {
    let platform = lock.platform();
    // No other thread uses the lists: the thread that began the transaction is not in this process, or no longer exists.
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    if phase == PUBLISHING {
        in_flight.requests().iter_mut().for_each(|request| request.publish(None));
        return true;
    }
    let mut undone = true;
    if phase == WRITING {
        // After the plan was made, an object of another instance of the library may have been unloaded. That instance did not remove the object's
        // sites from this plan.
        plan.retain(&|change| object::contains_code(change.address, &lock.objects));
        let held = &mut lock.platform_state;
        undone = match plan.schedule(platform) {
            Ok(false) => true,
            Err(_) => false,
            Ok(true) if !plan.changes.iter().all(SiteChange::can_be_read) => false,
            Ok(true) => {
                platform.writers(&plan.facts.summary, held).iter().any(|kind| {
                    // SAFETY: the changes were verified, in this process or in the process from which it was forked.
                    unsafe { undo::undo(kind, plan, held) }.is_ok()
                })
            }
        };
    }
    // All requests are abandoned, even those whose `effect` is `None`: the process may have been forked after a counter was changed and before the
    // `effect` was stored.
    in_flight.requests().iter_mut().for_each(PendingRequest::abandon);
    if !undone {
        in_flight.stuck();
    }
    undone
}
