//! The transaction that is being carried out, for a child that was copied in the middle of it by a raw `clone`.
//!
//! ```text
//!            begin                  writing              publishing             end
//!   NOTHING ───────► COLLECTING ──────────► WRITING ────────────► PUBLISHING ───────► NOTHING
//!                    to be forgotten        to be undone          to be finished
//! ```
//!
//! Where a flip fails and cannot be undone either, the phase stays at WRITING, too, until somebody can.
//!
//! Such a child finds the lock free, because its page is wiped (see `text::linux::lock`), and a phase other than NOTHING:
//! whoever takes the lock first puts things right. An ordinary fork waits for the lock and never sees one.

#[cfg(jumplabel_sites)]
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

use super::plan::{Edits, Request};
use super::{Lock, steps};
use crate::key::count::{self, Transition};
use crate::site::object;

static PHASE: AtomicU8 = AtomicU8::new(NOTHING);
static REQUESTS: AtomicPtr<Request<'static>> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);

const NOTHING: u8 = 0;
const COLLECTING: u8 = 1;
const WRITING: u8 = 2;
const PUBLISHING: u8 = 3;

/// A transaction begins, with an empty list of edits.
pub(super) fn begin(requests: &mut [Request<'_>]) {
    COUNT.store(requests.len(), Ordering::Relaxed);
    REQUESTS.store(requests.as_mut_ptr().cast(), Ordering::Relaxed);
    PHASE.store(COLLECTING, Ordering::Release);
}

/// The list of edits is complete.
pub(super) fn writing() {
    PHASE.store(WRITING, Ordering::Release);
}

/// All sites are written.
pub(super) fn publishing() {
    PHASE.store(PUBLISHING, Ordering::Release);
}

/// The sites could not be restored: whoever takes the lock next tries again. The counts are right already.
pub(super) fn stuck() {
    COUNT.store(0, Ordering::Relaxed);
    PHASE.store(WRITING, Ordering::Release);
}

/// The address of a site that could still not be restored.
pub(super) fn stuck_at(lock: &Lock) -> Option<usize> {
    // SAFETY: the lock is held.
    let first = || unsafe { Edits::interrupted(lock) }.first().map(|edit| edit.address);
    (PHASE.load(Ordering::Acquire) == WRITING).then(first).flatten()
}

/// The object at `addresses` is about to be unloaded: what could not be restored in it needs to be restored no more.
#[cfg(jumplabel_sites)]
pub(crate) fn forget(addresses: &Range<usize>, lock: &Lock) {
    // SAFETY: the lock is held.
    let edits = unsafe { Edits::interrupted(lock) };
    edits.retain(|edit| !addresses.contains(&edit.address));
}

/// Done, one way or the other.
pub(super) fn end() {
    PHASE.store(NOTHING, Ordering::Release);
}

/// Undoes or finishes what the process that this one is a copy of had begun.
pub(super) fn recover(lock: &Lock) {
    let phase = PHASE.load(Ordering::Acquire);
    if phase != NOTHING && finish(phase, lock) {
        end();
    }
}

/// Whether all is well.
#[cold]
fn finish(phase: u8, lock: &Lock) -> bool {
    let requests = match COUNT.load(Ordering::Relaxed) {
        0 => &[],
        // SAFETY: on the stack of the thread that flipped, which was copied with the rest of memory.
        count => unsafe { core::slice::from_raw_parts(REQUESTS.load(Ordering::Relaxed), count) },
    };
    if phase == PUBLISHING {
        requests.iter().for_each(Request::publish);
        return true;
    }
    // SAFETY: the list is in memory of this process, and whoever was changing it does not exist here.
    let edits = unsafe { Edits::interrupted(lock) };
    if phase == WRITING {
        // An object of another copy of the library may have gone since: that copy knows nothing of this list.
        edits.retain(|edit| object::contains_code(edit.address, lock));
    }
    // SAFETY: the edits were verified, here or in the process that this is a copy of; the lock is held.
    let undo = |kind| unsafe { lock.text().open(kind, edits, &mut |writer| steps::undo(edits, writer)) }.is_ok();
    let undone = match (phase == WRITING).then(|| edits.summary(lock)).flatten() {
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
