//! A key's state for a while: guards that give it back, one for a key at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::vec::Vec;

use crate::error::Error;
use crate::key::RawKey;
use crate::patch::Outcome;

/// The keys that have a guard, and the threads that made them.
static GUARDED: Mutex<Vec<(usize, ThreadId)>> = Mutex::new(Vec::new());
static GONE: Condvar = Condvar::new();

fn guarded() -> MutexGuard<'static, Vec<(usize, ThreadId)>> {
    GUARDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds a key in a state, and gives it back the one that it had before when it is dropped, also by a panic. From
/// [`RawKey::scoped`].
#[derive(Debug)]
#[must_use = "the key goes back to its state when the guard is dropped"]
pub struct KeyGuard<'key> {
    key: &'key RawKey,
    before: bool,
}

impl RawKey {
    /// Turns the key on or off until the guard is dropped: for tests and tools. Two guards of one key in a process (of this copy of
    /// the library) wait for each other, so that tests that need different states of it can run beside each other. `enable`,
    /// `inc` and the like do not wait for a guard.
    ///
    /// Costs a flip at each end, where the state is another than before, and a lock and an allocation of the program's
    /// allocator. Not safe in signal handlers. In a child of `fork`, a guard of another thread is never given back.
    ///
    /// # Errors
    /// [`Error::Reentrant`] where this thread has a guard of the key already. As [`enable`](Self::enable) and
    /// [`disable`](Self::disable); then there is no guard, and nothing has changed.
    pub fn scoped(&self, on: bool) -> Result<KeyGuard<'_>, Error> {
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
        let guard = KeyGuard { key: self, before: self.is_enabled() };
        // Where this is refused, the guard goes, and finds the key as it was.
        self.set(on)?;
        Ok(guard)
    }
}

impl KeyGuard<'_> {
    /// Gives the state back, as the drop does, and tells what that came to.
    ///
    /// # Errors
    /// As [`RawKey::enable`]: the key stays as it is. A drop has nobody to tell.
    pub fn restore(self) -> Result<Outcome, Error> {
        self.key.set(self.before)
    }
}

impl Drop for KeyGuard<'_> {
    fn drop(&mut self) {
        let _ = self.key.set(self.before);
        guarded().retain(|(key, _)| *key != self.key.address());
        GONE.notify_all();
    }
}
