//! Applies the alternatives of all objects together.

use crate::error::Error;
use crate::format::Entry;
use crate::patch::{self, Lock, Outcome};
use crate::raw::alternatives::RawAlternatives;
use crate::raw::count::Change;

/// Applies all alternatives. Refuses if the process has several threads: another thread could be between two instructions of an alternative. The only
/// thread is in this function, and so in no alternative.
pub(super) fn apply() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    lock.demand_one_thread()?;
    // SAFETY: the macro `alternative!` leads each entry of an alternative to `__jumplabel_alternatives`, the object's own key.
    unsafe { patch::commit_all(Entry::is_alternative, |key| RawAlternatives::of(key), Change::Enable, &mut lock) }
}
