//! Sets a key's state for a while. A guard restores the old state. A key has only one guard at a time.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::boxed::Box;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::vec::Vec;

use crate::error::Error;
use crate::key::RawKey;
use crate::key::flip::{change, change_locked};
use crate::patch::{self, Outcome, Request};
use crate::raw::count::Change;

/// The guards of a process. A forked child makes its own list: another thread of the parent may have held the mutex when the process was forked, and
/// the guards of such a thread are never dropped in the child.
#[derive(Debug)]
struct Guards {
    process: Process,
    /// The address of each key that has a guard, and the thread that made the guard.
    list: Mutex<Vec<(usize, ThreadId)>>,
    gone: Condvar,
}

static GUARDS: AtomicPtr<Guards> = AtomicPtr::new(null_mut());

/// The number of this process, and the forks that led to it. The number alone can be that of the parent: in a new namespace, both can be 1. The
/// forks alone do not count those by a raw `clone`, and none in a build without sites.
type Process = (u32, u32);

static FORKS: AtomicU32 = AtomicU32::new(0);

/// WebAssembly has no processes.
fn process() -> Process {
    (if cfg!(target_family = "wasm") { 0 } else { std::process::id() }, FORKS.load(Ordering::Relaxed))
}

/// Called in a forked child.
#[cfg(jumplabel_sites)]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

impl Guards {
    /// The guards of this process.
    fn of_process() -> &'static Guards {
        let mut found = GUARDS.load(Ordering::Acquire);
        loop {
            // SAFETY: the pointer is null, or leads to a list that is never freed.
            if let Some(guards) = unsafe { found.as_ref() }
                && guards.process == process()
            {
                return guards;
            }
            let new = Guards { process: process(), list: Mutex::new(Vec::new()), gone: Condvar::new() };
            let new = Box::into_raw(Box::new(new));
            match GUARDS.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: from here on, nobody frees the list.
                Ok(_) => return unsafe { &*new },
                Err(now) => {
                    // SAFETY: the list came from `into_raw`, and nobody else has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    found = now;
                }
            }
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<(usize, ThreadId)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds a key in a state. When the guard is dropped, even by a panic, the key gets its old state back. [`RawKey::scoped`] makes the guard.
#[derive(Debug)]
#[must_use = "the key goes back to its state when the guard is dropped"]
pub struct KeyGuard {
    key: &'static RawKey,
    /// The state that the guard restores. `None` if it restores nothing.
    before: Option<bool>,
    /// The list that has this guard.
    guards: &'static Guards,
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
    /// safe in signal handlers.
    ///
    /// In a forked child, nobody waits for a guard that was made before the fork, not even the thread that made it: a second guard of the same key
    /// is no error there. The guards of the parent's other threads are never dropped there, so their keys stay as they are. Not for a child that
    /// shares the parent's memory (`vfork`, `clone(CLONE_VM)`): it would take the parent's guards away from the parent.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread already has a guard of the key, and the errors of [`enable`](Self::enable) and
    /// [`disable`](Self::disable). On any error there is no guard, and nothing has changed.
    pub fn scoped(&'static self, on: bool) -> Result<KeyGuard, Error> {
        let (key, me) = (self.address(), thread::current().id());
        let guards = Guards::of_process();
        let mut list = guards.list();
        while let Some((_, thread)) = list.iter().find(|(guarded, _)| *guarded == key) {
            if *thread == me {
                return Err(Error::Reentrant);
            }
            list = guards.gone.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
        list.push((key, me));
        drop(list);
        // If the flip is refused, this guard is dropped, and restores nothing.
        let mut guard = KeyGuard { key: self, before: None, guards };
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
        if self.guards.process == process() {
            self.guards.list().retain(|(key, _)| *key != self.key.address());
            self.guards.gone.notify_all();
        }
    }
}
