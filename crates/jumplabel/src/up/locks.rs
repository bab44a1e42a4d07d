//! UP mode in builds whose `lock` prefixes are sites: the keys of all objects that have lock prefixes change together.

use core::sync::atomic::Ordering;

use crate::error::Error;
use crate::format::{PREFIX, UP};
use crate::patch::{self, Lock, Outcome};
use crate::raw::count::Change;
use crate::site::object;

pub(super) fn leave() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    if are_out(&lock) { change(Change::Disable, &mut lock) } else { Ok(Outcome::default()) }
}

pub(super) fn enter() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    lock.demand_one_thread()?;
    change(Change::Enable, &mut lock)
}

pub(super) fn is_on() -> bool {
    Lock::take().is_ok_and(|lock| are_out(&lock))
}

/// Whether any object has its lock prefixes removed. This asks all objects of all instances of the library, because an object that was loaded later
/// may have its own instance, which does not know that UP mode is on.
fn are_out(lock: &Lock) -> bool {
    object::all(&lock.objects).any(|object| object.has(UP))
}

/// Restores or removes all lock prefixes in one transaction: if the transaction is refused, no object has changed.
fn change(change: Change, lock: &mut Lock) -> Result<Outcome, Error> {
    // SAFETY: the macro emits a key for entries of this kind.
    let outcome = unsafe { patch::commit_all(|entry| entry.kind() == PREFIX, |key| key, change, lock) }?;
    for object in object::all(&lock.objects) {
        if change == Change::Enable {
            object.flags.fetch_or(UP, Ordering::Relaxed)
        } else {
            object.flags.fetch_and(!UP, Ordering::Relaxed)
        };
    }
    Ok(outcome)
}
