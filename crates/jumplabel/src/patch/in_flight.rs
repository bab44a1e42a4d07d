//! The transaction that is being carried out, for whoever finds it unfinished: a child that was copied in the middle of it, and
//! the next to take the lock if a process that shares this memory was killed in the middle of it.
//!
//! ```text
//!            begin                  writing              publishing             end
//!   NOTHING ───────► COLLECTING ──────────► WRITING ────────────► PUBLISHING ───────► NOTHING
//!                    to be forgotten        to be undone          to be finished
//! ```
//!
//! If a flip fails and cannot be undone either, the phase stays at WRITING, too, until somebody can.
//!
//! The phase is a part of the copy's `Runtime`. Whoever takes the lock puts things right in all copies of the library. What it needs
//! to know is kept in memory of the copy's own: the stack of the thread that flipped may be gone.
//!
//! A child of an ordinary fork never sees a phase, because `fork` waits for the lock (`text::linux::fork` has the
//! exceptions). In a copied process the phase alone is not enough: see `settle_copy`.

#[cfg(jumplabel_sites)]
use core::ops::Range;
use core::sync::atomic::Ordering;

use super::plan::{Edits, Request};
use super::{Lock, steps};
use crate::error::Error;
use crate::key::count::{self, Transition};
use crate::site::object::{self, RUNTIME};
use crate::text::list::{Guarded, List};

static REQUESTS: Guarded<List<Request<'static>>> = Guarded::new(List::new());

pub(crate) const NOTHING: u32 = 0;
const COLLECTING: u32 = 1;
const WRITING: u32 = 2;
const PUBLISHING: u32 = 3;

fn enter(phase: u32) {
    RUNTIME.phase.store(phase, Ordering::Release);
}

/// Copies `requests` to the list.
#[inline(never)] // Once in a program is enough.
fn note(requests: &[Request<'_>], lock: &Lock) -> Result<(), Error> {
    if cfg!(not(jumplabel_sites)) {
        return Ok(()); // A flip is one store; the platform may have no memory to give.
    }
    // SAFETY: the lock is held.
    let list = unsafe { REQUESTS.get() };
    list.truncate(0);
    list.reserve(requests.len(), lock.text())?;
    requests.iter().try_for_each(|request| {
        // SAFETY: a key outlives the transaction, and whoever finds that unfinished is given the key by the same caller's right: the
        // object of a key must not be unloaded while the key is flipped.
        let request = unsafe { core::mem::transmute::<Request<'_>, Request<'static>>(*request) };
        list.push(request, lock.text())
    })
}

/// A transaction begins, with an empty list of edits.
pub(super) fn begin(requests: &[Request<'_>], lock: &Lock) -> Result<(), Error> {
    note(requests, lock)?;
    enter(COLLECTING);
    Ok(())
}

/// Makes room for the requests of a transaction, as far as a page goes.
pub(super) fn prepare(lock: &Lock) -> Result<(), Error> {
    // SAFETY: the lock is held.
    unsafe { REQUESTS.get() }.reserve(1, lock.text())
}

/// The list of edits is complete.
pub(super) fn writing() {
    enter(WRITING);
}

/// All sites are written.
pub(super) fn publishing(requests: &[Request<'_>], lock: &Lock) {
    let noted = note(requests, lock); // There is room since `begin`.
    debug_assert!(noted.is_ok());
    enter(PUBLISHING);
}

/// The sites could not be restored: whoever takes the lock next tries again. The counts are right already.
pub(super) fn stuck() {
    // SAFETY: the lock is held.
    unsafe { REQUESTS.get() }.truncate(0);
    enter(WRITING);
}

/// The address of a site that could still not be restored.
pub(super) fn stuck_at(lock: &Lock) -> Option<usize> {
    // SAFETY: the lock is held.
    let first = || unsafe { Edits::interrupted(lock) }.first().map(|edit| edit.address);
    (RUNTIME.phase.load(Ordering::Acquire) == WRITING).then(first).flatten()
}

/// The object at `addresses` is about to be unloaded: what could not be restored in it needs to be restored no more.
#[cfg(jumplabel_sites)]
pub(crate) fn forget(addresses: &Range<usize>, lock: &Lock) {
    // SAFETY: the lock is held.
    let edits = unsafe { Edits::interrupted(lock) };
    edits.retain(|edit| !addresses.contains(&edit.address));
}

/// Gives back what the list holds.
#[cfg(jumplabel_sites)]
pub(super) fn release_list(lock: &Lock) {
    // SAFETY: the lock is held.
    unsafe { REQUESTS.get() }.free(lock.text());
}

/// Done, one way or the other.
pub(super) fn end() {
    enter(NOTHING);
}

/// Undoes or finishes what copies of the library had begun.
pub(super) fn recover(lock: &Lock) {
    for runtime in object::runtimes(lock) {
        if runtime.phase.load(Ordering::Acquire) != NOTHING {
            (runtime.recover)();
        }
    }
}

/// The same for this copy. The lock is held.
pub(crate) extern "C" fn recover_here() {
    if finish(RUNTIME.phase.load(Ordering::Acquire), &Lock::borrowed()) {
        end();
    }
}

/// Whether all is well.
#[cold]
fn finish(phase: u32, lock: &Lock) -> bool {
    // SAFETY: the lock is held, and whoever was changing the lists does not exist here.
    let (requests, edits) = unsafe { (REQUESTS.get(), Edits::interrupted(lock)) };
    if phase == PUBLISHING {
        requests.iter().for_each(|request| request.publish(None));
        return true;
    }
    if phase == WRITING {
        // An object of another copy of the library may have gone since: that copy knows nothing of this list.
        edits.retain(|edit| object::contains_code(edit.address, lock));
    }
    let summary = if phase == WRITING { edits.summary(lock) } else { None };
    // SAFETY: the edits were verified, here or in the process that this is a copy of; the lock is held.
    let undo = |kind| unsafe { lock.text().open(kind, edits, &mut |writer| steps::undo(edits, writer)) }.is_ok();
    let undone = match summary {
        None => true,
        Some(summary) => (0..).map_while(|attempt| lock.text().choose(&summary, attempt)).any(undo),
    };
    // Whatever the transition says: the copy may have come between the counter's change and its note.
    requests.iter().for_each(|request| count::abandon(request.key.word(), Transition::TurnOff));
    if !undone {
        stuck();
    }
    undone
}
