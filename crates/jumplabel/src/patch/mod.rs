//! Changes code: no other module does. Start with [`transaction`], which calls the functions of the other files in this order.
//!
//! ```text
//!  lock      there is one for the process; it blocks signals; if a thread takes it twice, the second time is an error
//!  begin     each key's counter says whether its sites must change; while a key turns off, its `inc` and `dec` need the lock, too
//!  collect   the sites of all keys, from the index, merged, sorted by address, deduplicated
//!  verify    all bytes of each site are those of one of its legal states, else ForeignBytes; nothing is written yet
//!  open      the writer makes all pages writable (mprotect), or opens its own descriptor (procmem), or copies the pages (remap)
//!  steps     for each step, its writes, then a core sync: one step, or three if a site is pristine;
//!            if a write is refused, the steps before it are undone, and the next writer is tried
//!  close     the writer puts the protections back
//!  publish   counts change only now
//!  notify    when the lock is released, functions of the program are called for the keys and modes that have changed
//! ```
//!
//! If something fails after `begin`, counts and sites are as before, unless the error is `RollbackFailed`. Between `open` and `close` this
//! module allocates nothing, does not call the dynamic loader, and does not run the program's code.

mod carry_out;
#[cfg(jumplabel_sites)]
mod collect;
mod hand_over;
pub(crate) mod in_flight;
mod lock;
mod lock_and_recover;
#[cfg(jumplabel_sites)]
mod objects;
mod outcome;
pub(crate) mod patchable;
mod plan;
mod prepare;
mod purpose;
mod requests;
mod schedule;
mod site_change;
mod steps;
#[cfg(jumplabel_prefixes)]
mod together;
mod too_early;
mod transaction;
mod undo;
#[cfg(jumplabel_short_engine)]
mod unlinked;
mod verify;

pub use lock::Lock;
#[cfg(jumplabel_threads)]
pub(crate) use lock_and_recover::demand_registered;
#[cfg(jumplabel_sites)]
pub(crate) use lock_and_recover::set_registered;
#[cfg(jumplabel_sites)]
pub(crate) use objects::{catch_up, release_lists, tell_others, unload};
pub use outcome::Outcome;
pub(crate) use patchable::{LENT, LentKey, MODE, Patchable, RETURNED};
pub use patchable::{Request, Settable};
pub(crate) use prepare::prepare_these;
pub use prepare::{prepare, probe};
#[cfg(jumplabel_prefixes)]
pub(crate) use together::commit_all;
pub(crate) use too_early::locked;
pub(crate) use transaction::{commit, commit_by, commit_locked, sync_again};
#[cfg(jumplabel_short_engine)]
pub(crate) use unlinked::demand_right;
pub use verify::verify;
pub(crate) use verify::{restore_pristine, verify_one};

#[cfg(jumplabel_sites)]
use crate::platform::notices::NOBODY;

/// Called by another instance of the library through [`Runtime::tell`](crate::format::Runtime), under the lock. (This function is in this file
/// because files of a folder must not use each other in a circle: `patchable` refers to it, and it calls `commit_locked`, which uses `patchable`.)
///
/// If `end` is 0, sets the sites of all objects to the state of their patchables.
///
/// Otherwise, the object at `start..end` is about to be unloaded. Each static call that leads into the object is set to its default. If the
/// system refuses that, the call stays as it is, because no caller here waits for an error.
#[cfg(jumplabel_sites)]
extern "C" fn told(start: usize, end: usize) {
    // SAFETY: the instance that calls this holds the lock, and has borrowed nothing that the lock protects.
    let mut lock = unsafe { Lock::borrowed() };
    if end == 0 {
        return objects::catch_up_all(&mut lock);
    }
    // From here on, the holder of the lock makes no change for the program: an object is loaded or unloaded, or the process was forked.
    lock::NOTICES.get(&mut lock.objects).by = NOBODY;
    let mut refused = 0;
    // Few static calls lead into another object, so a transaction for each of them is cheap enough.
    while let Some(go_home) = patchable::go_home(&(start..end), refused, &lock.objects) {
        refused += usize::from(commit_locked(&[go_home], &mut lock).is_err());
    }
}
