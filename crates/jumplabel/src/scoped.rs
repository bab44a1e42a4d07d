//! Sets a key's state for a while. A guard restores the old state. A key has only one guard at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::vec::Vec;

use crate::error::Error;
use crate::key::RawKey;
use crate::key::flip::{change, change_locked};
use crate::patch::{self, Outcome, Request};
use crate::raw::count::Change;

/// The address of each key that has a guard, and the thread that made the guard.
static GUARDED: Mutex<Vec<(usize, ThreadId)>> = Mutex::new(Vec::new());
static GONE: Condvar = Condvar::new();

fn guarded() -> MutexGuard<'static, Vec<(usize, ThreadId)>> {
    GUARDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds a key in a state. When the guard is dropped, even by a panic, the key gets its old state back. [`RawKey::scoped`] makes the guard.
#[derive(Debug)]
#[must_use = "the key goes back to its state when the guard is dropped"]
pub struct KeyGuard {
    key: &'static RawKey,
    /// The state that the guard restores. `None` if it restores nothing.
    before: Option<bool>,
}

impl RawKey {
    /// Turns the key on or off until the guard is dropped: for tests and tools. While one guard of a key exists, another thread that asks for a
    /// guard of that key waits. (Other processes, and other instances of the library, do not wait.) So tests that need different states of a key
    /// can run beside each other. `enable`, `inc` and similar functions do not wait for a guard. A program with guards of several keys must take
    /// them in the same order on all threads: two threads that each wait for the other's key wait for ever.
    ///
    /// The guard knows its key only by the address. So the key must be a static, or leaked. Otherwise a forgotten guard could hold another key
    /// that later lies at the same address.
    ///
    /// If a deferred dec is due, a user has left, but the count still includes that user. The guard does not count that user. So if the key has
    /// no other user, the state that the guard restores is "off".
    ///
    /// A guard belongs to its thread. So in async code, do not keep a guard across an `await`: another task on that thread that asks for a guard
    /// of the same key gets an error, and does not wait.
    ///
    /// Costs a lock and an allocation by the program's allocator. If the guard changes the state, that costs a flip, and so does its drop. Not
    /// safe in signal handlers. In a forked child, the guards of the parent's other threads are never dropped.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread already has a guard of the key, and the errors of [`enable`](Self::enable) and
    /// [`disable`](Self::disable). On any error there is no guard, and nothing has changed.
    pub fn scoped(&'static self, on: bool) -> Result<KeyGuard, Error> {
        let (key, me) = (self.address(), thread::current().id());
        let mut guards = guarded();
        while let Some((_, thread)) = guards.iter().find(|(guarded, _)| *guarded == key) {
            if *thread == me {
                return Err(Error::Reentrant);
            }
            guards = GONE.wait(guards).unwrap_or_else(PoisonError::into_inner);
        }
        guards.push((key, me));
        drop(guards);
        // If the flip is refused, this guard is dropped, and restores nothing.
        let mut guard = KeyGuard { key: self, before: None };
        let mut lock = patch::locked(&[Request::new(self, 0)])?;
        let before = self.is_held();
        change_locked(self, Change::to(on), &mut lock)?;
        guard.before = Some(before);
        Ok(guard)
    }
}

impl KeyGuard {
    /// Restores the old state, as a drop of the guard does, and returns the outcome.
    ///
    /// # Errors
    /// The errors of [`RawKey::enable`]. On an error, the key stays as it is. (A drop cannot report the error.)
    pub fn restore(mut self) -> Result<Outcome, Error> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<Outcome, Error> {
        self.before.take().map_or(Ok(Outcome::default()), |before| change(self.key, Change::to(before)))
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        let _ = self.give_back();
        guarded().retain(|(key, _)| *key != self.key.address());
        GONE.notify_all();
    }
}
