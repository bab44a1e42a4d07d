//! Transactions. A transaction changes keys, static calls and modes, and the code at their sites, all or nothing. Other modules change sites only
//! through transactions. Start with [`transaction`]. These are the stages of a flip, in their order:
//!
//! ```text
//!  lock      the thread blocks its signals and takes the lock of the process; if it already holds the lock, that is an error
//!  begin     each key's counter says whether its sites must change; while a key turns off, its `inc` and `dec` need the lock, too
//!  collect   the index lists the sites of each key; each site is compared with what it must hold, and its change is added to the plan;
//!            if the site is in none of its states, the error is ForeignBytes; nothing is written yet
//!  schedule  the changes are sorted by address, and duplicates are removed
//!  open      the writer makes all pages writable (mprotect), or opens its own descriptor (procmem), or copies the pages (remap)
//!  steps     for each step, its writes, then a core sync: one step, or up to three if a site is pristine;
//!            if a write is refused, the steps before it are undone, and the next writer is tried
//!  close     the writer puts the protections back
//!  publish   the keys' counts, the calls' targets and the modes change
//!  notify    when the lock is released, functions of the program are called for the keys and modes that have changed
//! ```
//!
//! If a flip fails, keys and sites are as before, unless the error is `RollbackFailed`. Between `open` and `close` this module allocates nothing,
//! does not call the dynamic loader, and does not run the program's code.

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

/// The function that [`Runtime::tell`](crate::format::Runtime) of this instance calls. The caller is an instance of the library, usually another one,
/// and holds the lock.
///
/// If `end` is 0, sets the sites of all objects to the state of their patchables.
///
/// Otherwise, the object at `start..end` is about to be unloaded. Sets each static call that leads into the object to its default. If the system
/// refuses that, the call stays as it is, because no caller here waits for an error.
///
/// This function is not in objects.rs, because files of a folder must not use each other in a circle: `patchable` refers to this function, which
/// calls `commit_locked`, which uses `patchable`.
#[cfg(jumplabel_sites)]
extern "C" fn told(start: usize, end: usize) {
    // SAFETY: the instance that calls this function holds the lock. If the caller is this instance, it does not use its own `Lock` during the call.
    let mut lock = unsafe { Lock::borrowed() };
    if end == 0 {
        return objects::catch_up_all(&mut lock);
    }
    // The library makes the changes below for itself, because an object is unloaded. So no notices are sent for them.
    lock::NOTICES.get(&mut lock.objects).by = NOBODY;
    let mut refused = 0;
    // There is one transaction for each call. That is cheap enough, because few static calls lead into another object.
    while let Some(go_home) = patchable::go_home(&(start..end), refused, &lock.objects) {
        refused += usize::from(commit_locked(&[go_home], &mut lock).is_err());
    }
}
