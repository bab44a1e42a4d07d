//! The only place that changes code. [`transaction`] leads through the files.
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
#[cfg(jumplabel_sites)]
mod objects;
mod outcome;
pub(crate) mod patchable;
mod plan;
mod prepare;
mod purpose;
mod registered;
mod schedule;
mod site_change;
mod stay;
mod steps;
mod take;
#[cfg(jumplabel_prefixes)]
mod together;
mod transaction;
mod undo;
#[cfg(jumplabel_short_engine)]
mod unlinked;

pub use lock::Lock;
#[cfg(jumplabel_sites)]
pub(crate) use objects::{catch_up, release_lists, tell_others, unload};
pub use outcome::Outcome;
pub(crate) use patchable::{LENT, LentKey, Patchable, RETURNED};
pub use patchable::{Request, Settable};
pub use prepare::{prepare, probe};
pub(crate) use registered::locked;
pub use stay::verify;
pub(crate) use stay::{restore_pristine, verify_one};
#[cfg(jumplabel_sites)]
pub(crate) use take::set_registered;
#[cfg(jumplabel_prefixes)]
pub(crate) use together::commit_all;
pub(crate) use transaction::{commit, commit_locked, sync_again};
#[cfg(jumplabel_short_engine)]
pub(crate) use unlinked::demand_right;

/// For another instance of the library, which calls it by [`Runtime::tell`](crate::format::Runtime). The lock is held. (It stands here,
/// because patchables that are not keys name it, and it commits.)
///
/// If an object goes, static calls that lead into it go to their defaults. If that is refused, a call is left as it is: there is no caller to
/// tell.
#[cfg(jumplabel_sites)]
extern "C" fn told(start: usize, end: usize) {
    // SAFETY: whoever tells has borrowed nothing that the lock stands for.
    let mut lock = unsafe { Lock::borrowed() };
    if end == 0 {
        return objects::catch_up_all(&mut lock);
    }
    let mut refused = 0;
    // Few calls ever lead into another object: one after the other.
    while let Some(go_home) = patchable::go_home(&(start..end), refused, &lock.objects) {
        refused += usize::from(commit_locked(&mut [go_home], &mut lock).is_err());
    }
}
