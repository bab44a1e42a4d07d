//! UP mode in builds that patch `lock` prefixes. Each object that has such prefixes has a key for them, and one transaction changes all these keys.

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

/// Whether UP mode is on: whether any object has the flag `UP`. This asks the objects of all instances of the library: an instance that was loaded in
/// UP mode has no object with the flag.
fn are_out(lock: &Lock) -> bool {
    object::all(&lock.objects).any(|object| object.has(UP))
}

/// Restores or removes all lock prefixes in one transaction: if the transaction is refused, no object has changed.
fn change(change: Change, lock: &mut Lock) -> Result<Outcome, Error> {
    // SAFETY: `lock_prefix!` leads each entry of the kind `PREFIX` to `__jumplabel_up`, the object's own key.
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
