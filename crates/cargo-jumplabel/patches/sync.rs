//! Turns the keys of callsites on or off, as the state of their callsites demands. `cargo jumplabel` has written this file; upstream does not have
//! it.

use super::jumplabel::{self, Error, List, ObjectChange, Outcome, RawKey};
use super::library::sync::{Mutex, PoisonError};
use super::library::vec::Vec;

/// A callsite with a key.
pub trait Callsite: Sync + 'static {
    fn key(&'static self) -> &'static RawKey;
    /// True if the callsite can do anything, so that its key has to be on.
    fn is_wanted(&self) -> bool;
    /// True if this callsite is marked. Then the key [`any_marked`](Self::any_marked) has to be on.
    fn is_marked(&self) -> bool {
        false
    }
    /// Makes the word that the callsite's events load agree with the callsite's state. [`sync`] calls this before the other functions, in one thread
    /// at a time.
    fn refresh(&self) {}
    /// True if all callsites count as marked.
    fn all_marked() -> bool {
        false
    }
    /// The key that is on while any callsite is marked, if there is one.
    fn any_marked() -> Option<&'static RawKey> {
        None
    }
}

/// The error with which the last [`follow`] failed. `None` if it succeeded, or if keys have followed since. The keys follow again at the next change.
static ERROR: Mutex<Option<Error>> = Mutex::new(None);

pub fn last_error() -> Option<Error> {
    *ERROR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns all keys of a list on or off, as their callsites demand, in one batch. If there is an error, stores it for [`last_error`].
///
/// When an object is loaded later, `loaded` is called for it, and shall call this function again.
pub fn follow<T: Callsite>(list: &'static List<T>, loaded: fn(ObjectChange, &[&'static T])) {
    let _ = one_at_a_time(list, loaded, true);
}

/// Does the same as [`follow`], and returns the error instead of keeping it. After a success, no earlier error is kept, either.
pub fn sync<T: Callsite>(list: &'static List<T>, loaded: fn(ObjectChange, &[&'static T])) -> Result<Outcome, Error> {
    one_at_a_time(list, loaded, false)
}

fn one_at_a_time<T: Callsite>(
    list: &'static List<T>,
    loaded: fn(ObjectChange, &[&'static T]),
    keeps_error: bool,
) -> Result<Outcome, Error> {
    static ONE_AT_A_TIME: Mutex<bool> = Mutex::new(false);
    let mut is_prepared = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_prepared {
        // After this, a callsite whose key is off is a nop. If the system refuses to prepare, callsites go on loading their keys.
        *is_prepared = true;
        let _ = jumplabel::prepare();
        list.on_change(loaded);
    }
    let result = turn(list);
    if keeps_error || result.is_ok() {
        *ERROR.lock().unwrap_or_else(PoisonError::into_inner) = result.err();
    }
    result
}

fn turn<T: Callsite>(list: &'static List<T>) -> Result<Outcome, Error> {
    let (mut changes, mut any_marked) = (Vec::new(), T::all_marked());
    list.for_each(|callsite| {
        callsite.refresh();
        any_marked |= callsite.is_marked();
        let is_wanted = callsite.is_wanted();
        if is_wanted != callsite.key().is_enabled() {
            changes.push((callsite.key(), is_wanted));
        }
    })?;
    changes.extend(T::any_marked().filter(|key| key.is_enabled() != any_marked).map(|key| (key, any_marked)));
    jumplabel::set_all(changes)
}
