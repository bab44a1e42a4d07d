//! A key's state for a while: guards that give the old state back, one guard of a key at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::vec::Vec;

use crate::error::Error;
use crate::key::RawKey;
use crate::key::flip::{change, change_locked};
use crate::patch::{self, Outcome, Request};
use crate::raw::count::Change;

/// The keys that have a guard, and the threads that made them.
static GUARDED: Mutex<Vec<(usize, ThreadId)>> = Mutex::new(Vec::new());
static GONE: Condvar = Condvar::new();

fn guarded() -> MutexGuard<'static, Vec<(usize, ThreadId)>> {
    GUARDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds a key in a state. When it is dropped, also by a panic, the key gets its old state back. From
/// [`RawKey::scoped`].
#[derive(Debug)]
#[must_use = "the key goes back to its state when the guard is dropped"]
pub struct KeyGuard {
    key: &'static RawKey,
    /// `None` as long as there is nothing to give back.
    before: Option<bool>,
}

impl RawKey {
    /// Turns the key on or off until the guard is dropped: for tests and tools. Two guards of one key in a process (of this copy of
    /// the library) wait for each other, so tests that need different states of it can run beside each other. `enable`,
    /// `inc` and the like do not wait for a guard. Whoever needs guards of several keys takes them in one order on all threads: two
    /// threads that each wait for the other's key wait for ever.
    ///
    /// A key with a guard is known by its address. So the key is a static or leaked: a guard that is forgotten holds that key, and no other one
    /// that comes to lie where it lay.
    ///
    /// If a deferred dec is due, the user that has left is counted off by the guard, and does not come back with the old state.
    ///
    /// A guard is its thread's, so in async code do not keep one over an `await`: another task on that thread is refused, and does not wait.
    ///
    /// Costs a flip at each end, if the state is another than before, and a lock and an allocation of the program's
    /// allocator. Not safe in signal handlers. In a child of `fork`, nobody drops the guards of the parent's other threads.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread has a guard of the key already. Otherwise as [`enable`](Self::enable) and
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
        // If something is refused, this is dropped, and gives nothing back.
        let mut guard = KeyGuard { key: self, before: None };
        let mut lock = patch::locked(&[Request::new(self, 0)])?;
        let before = self.is_held();
        change_locked(self, Change::to(on), &mut lock)?;
        guard.before = Some(before);
        Ok(guard)
    }
}

impl KeyGuard {
    /// Gives the state back, as the drop does, and returns the outcome.
    ///
    /// # Errors
    /// As [`RawKey::enable`]: then the key stays as it is. A drop cannot report that.
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
