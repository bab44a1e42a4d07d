//! Records the transaction that is being carried out, so that another thread or process can finish or undo it. That is needed in two cases. A child
//! was made by a raw `clone` in the middle of the transaction. Or a process that shares this memory was killed in the middle of it; then the next
//! thread that takes the lock finds the transaction.
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
//! the library. For that it needs the lists of changes and requests. Each instance keeps these lists in its own memory, because the stack of the
//! thread that flipped can be gone.
//!
//! `fork` waits for the lock (`platform::linux::instance::fork` has the exceptions), so its child always sees the phase NOTHING. If a process
//! was forked in another way, the phase alone is not enough: see `repair_after_fork` (patch/objects.rs).

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
// A tool leaves the phase `FORCED`, which is none of the phases here.
const _: () = assert!(PUBLISHING < process::FORCED);

fn set_phase(phase: u32) {
    RUNTIME.phase.store(phase, Ordering::Release);
}

/// The lists that are kept between transactions. If a transaction is interrupted, its changes and requests are still here.
pub(super) struct Transaction {
    pub(super) plan: Plan,
    pub(super) in_flight: InFlight,
}

pub(super) static TRANSACTION: Guarded<Transaction, Patch> =
    Guarded::new(Transaction { plan: Plan::new(), in_flight: InFlight::new() });

/// The number of requests for which the list has room from the beginning. A platform without sites has only one block of memory, which has this
/// size.
const FEW: usize = 32;
// That block has room for 32 requests of six words. The platform gives it only to a caller that asks for exactly this number of bytes.
const _: () = assert!(FEW * size_of::<PendingRequest<'_>>() == 32 * 6 * size_of::<usize>());

/// The requests of the transaction that is being carried out.
pub(super) struct InFlight(List<PendingRequest<'static>>);

impl InFlight {
    pub(super) const fn new() -> InFlight {
        InFlight(List::new())
    }

    /// Makes the list of `requests`. If several requests are for one patchable, the last one counts.
    #[inline(never)]
    pub(super) fn list(&mut self, requests: &[Request<'_>], platform: &dyn Platform) -> Result<(), Error> {
        self.0.truncate(0);
        self.0.reserve(requests.len().max(FEW), platform)?;
        requests.iter().zip(0..).try_for_each(|(request, order)| {
            // SAFETY: a patchable outlives the transaction. If the transaction is found unfinished, the patchable can still be used, because its
            // object must not be unloaded during the change.
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

    /// Makes room for the requests of a transaction: a page of them, and at least [`FEW`].
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

/// Records that a transaction begins, with the requests in the list. Its plan is still empty.
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

/// The address of the first site that an earlier transaction has changed, if that transaction still cannot be undone. Otherwise `None`.
pub(super) fn stuck_at(plan: &Plan) -> Option<usize> {
    if RUNTIME.phase.load(Ordering::Acquire) == WRITING { plan.first() } else { None }
}

/// Undoes or finishes the transaction that this instance of the library began. The caller holds the lock.
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
    // Nothing else changes the lists: the thread that changed them is not in this process, or no longer exists.
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    if phase == PUBLISHING {
        in_flight.0.iter().for_each(|request| request.publish(None));
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
                    // SAFETY: the changes were verified, in this process or in the one that it was forked from.
                    unsafe { undo::undo(kind, plan, held) }.is_ok()
                })
            }
        };
    }
    // All requests are abandoned, even those whose `effect` is `None`: the process may have been forked after `begin` changed a counter and
    // before it set the `effect`.
    in_flight.0.iter().for_each(|request| request.patchable.abandon());
    if !undone {
        in_flight.stuck();
    }
    undone
}
