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
mod transaction;
mod undo;
#[cfg(jumplabel_short_engine)]
mod unlinked;

pub use lock::Lock;
#[cfg(jumplabel_sites)]
pub(crate) use lock::set_registered;
#[cfg(jumplabel_sites)]
pub(crate) use objects::{catch_up, release_lists, tell_others, unload};
pub(crate) use patchable::{LENT, LentKey, Patchable, RETURNED};
pub use patchable::{Request, Settable};
pub use prepare::{prepare, probe};
pub(crate) use registered::locked;
pub use stay::verify;
pub(crate) use stay::{restore_pristine, verify_one};
#[cfg(jumplabel_prefixes)]
pub(crate) use together::commit_all;
pub use transaction::Outcome;
pub(crate) use transaction::{commit, commit_locked, sync_again};
#[cfg(jumplabel_short_engine)]
pub(crate) use unlinked::demand_right;
