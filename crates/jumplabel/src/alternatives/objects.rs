//! Applies the alternatives of all objects together.

use crate::error::Error;
use crate::format::Entry;
use crate::patch::{self, Lock, Outcome};
use crate::raw::alternatives::RawAlternatives;
use crate::raw::count::Change;

/// Applies all alternatives while the process has one thread. This thread is executing this function, so no thread is between two instructions of
/// an alternative.
pub(super) fn apply() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    lock.demand_one_thread()?;
    // SAFETY: the macro emits a key for entries of alternatives.
    unsafe { patch::commit_all(Entry::is_alternative, |key| RawAlternatives::of(key), Change::Enable, &mut lock) }
}
