//! The transaction that is being carried out. If it is interrupted, others find it unfinished: a child that was copied in the
//! middle of it; or, if a process that shares this memory was killed in the middle of it, the next thread that takes the lock.
//!
//! ```text
//!            begin                  writing              publishing             done
//!   NOTHING ───────► COLLECTING ──────────► WRITING ────────────► PUBLISHING ───────► NOTHING
//!                    to be dropped          to be undone          to be finished
//! ```
//!
//! If a flip fails and cannot be undone either, the phase stays at WRITING, too, until an undo succeeds.
//!
//! The phase is a part of the instance's `Runtime`. Whoever takes the lock puts things right in all instances of the library. The lists
//! that are needed for that are in memory of the instance's own: the stack of the thread that flipped may be gone.
//!
//! `fork` waits for the lock (`platform::linux::instance::fork` has the exceptions), so its child never sees a phase. If a process was forked
//! in another way, the phase alone is not enough: see `repair_after_fork`.

use core::sync::atomic::Ordering;

use super::plan::Plan;
use super::schedule::Schedule;
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
// The phase that a tool leaves is none of these.
const _: () = assert!(PUBLISHING < process::FORCED);

fn set_phase(phase: u32) {
    RUNTIME.phase.store(phase, Ordering::Release);
}

/// What is kept between transactions, and what an unfinished one leaves.
pub(super) struct Transaction {
    pub(super) plan: Plan,
    pub(super) in_flight: InFlight,
}

pub(super) static TRANSACTION: Guarded<Transaction, Patch> =
    Guarded::new(Transaction { plan: Plan::new(), in_flight: InFlight::new() });

/// The requests of the transaction.
pub(super) struct InFlight(List<Request<'static>>);

impl InFlight {
    pub(super) const fn new() -> InFlight {
        InFlight(List::new())
    }

    /// Copies `requests` to the list.
    #[inline(never)]
    fn copy(&mut self, requests: &[Request<'_>], platform: &dyn Platform) -> Result<(), Error> {
        if cfg!(not(jumplabel_sites)) {
            return Ok(()); // A flip is one store; the platform may have no memory to give.
        }
        self.0.truncate(0);
        self.0.reserve(requests.len(), platform)?;
        requests.iter().try_for_each(|request| {
            // SAFETY: a patchable outlives the transaction. Whoever finds that unfinished may use it by the caller's right: the
            // object of a key must not be unloaded while the key is flipped.
            let request = unsafe { core::mem::transmute::<Request<'_>, Request<'static>>(*request) };
            self.0.push(request, platform)
        })
    }

    /// A transaction begins, with an empty plan.
    pub(super) fn begin(&mut self, requests: &[Request<'_>], platform: &dyn Platform) -> Result<(), Error> {
        self.copy(requests, platform)?;
        RUNTIME.set_recover(recover_here);
        set_phase(COLLECTING);
        Ok(())
    }

    /// Makes room for the requests of a transaction, as far as a page goes.
    pub(super) fn prepare(&mut self, platform: &dyn Platform) -> Result<(), Error> {
        self.0.reserve(1, platform)
    }

    /// All sites are written.
    pub(super) fn publishing(&mut self, requests: &[Request<'_>], platform: &dyn Platform) {
        let listed = self.copy(requests, platform); // There is room since `begin`.
        debug_assert!(listed.is_ok());
        set_phase(PUBLISHING);
    }

    /// The sites could not be restored: whoever takes the lock next tries again. The counts are right already.
    pub(super) fn stuck(&mut self) {
        self.0.truncate(0);
        set_phase(WRITING);
    }

    /// Gives back what the list holds.
    #[cfg(jumplabel_sites)]
    pub(super) fn free(&mut self, platform: &dyn Platform) {
        self.0.free(platform);
    }
}

/// The plan is complete.
pub(super) fn writing() {
    set_phase(WRITING);
}

/// Done, one way or the other.
pub(super) fn done() {
    set_phase(NOTHING);
}

/// The address of a site that could still not be restored.
pub(super) fn stuck_at(plan: &Plan) -> Option<usize> {
    if RUNTIME.phase.load(Ordering::Acquire) == WRITING { plan.first() } else { None }
}

/// Undoes or finishes what this instance of the library had begun. The lock is held.
extern "C" fn recover_here() {
    // SAFETY: whoever takes the lock calls this before anything else.
    let mut lock = unsafe { Lock::borrowed() };
    if finish(RUNTIME.phase.load(Ordering::Acquire), &mut lock) {
        done();
    }
}

/// Whether all is well.
#[cold]
fn finish(phase: u32, lock: &mut Lock) -> bool {
    let platform = lock.platform();
    // The thread that was changing the lists does not exist here.
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    if phase == PUBLISHING {
        in_flight.0.iter().for_each(|request| request.publish(None));
        return true;
    }
    let mut undone = true;
    if phase == WRITING {
        // An object of another instance of the library may have gone since: that instance does not know this list.
        plan.retain(&|change| object::contains_code(change.address, &lock.objects));
        let held = &mut lock.platform_state;
        undone = match plan.schedule(platform) {
            Ok(None) => true,
            Err(_) => false,
            Ok(Some(Schedule { changes, .. })) if !changes.iter().all(SiteChange::can_be_read) => false,
            Ok(Some(Schedule { changes, extents, summary, .. })) => {
                platform.writers(&summary, held).iter().any(|kind| {
                    // SAFETY: the changes were verified, here or in the process that this one was forked from.
                    unsafe { undo::undo(kind, changes, extents, held) }.is_ok()
                })
            }
        };
    }
    // Whatever the request says: the process may have been forked between the counter's change and its note.
    in_flight.0.iter().for_each(|request| request.patchable.abandon());
    if !undone {
        in_flight.stuck();
    }
    undone
}
