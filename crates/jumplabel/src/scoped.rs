//! Guards: [`RawKey::scoped`] sets a key's state for a while, and the guard that it returns restores the old state. A key has only one guard at a
//! time.

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

/// The guards of one process. A forked child makes a list of its own, for two reasons: another thread of the parent may have held the mutex when the
/// process was forked, and the guards of such threads are never dropped in the child.
#[derive(Debug)]
struct Guards {
    process: Process,
    /// The keys that have a guard: the address of each key, and the thread that made the guard.
    list: Mutex<Vec<(usize, ThreadId)>>,
    gone: Condvar,
}

static GUARDS: AtomicPtr<Guards> = AtomicPtr::new(null_mut());

/// Identifies a process by two numbers: the number that the system gives it, and the number of forks that led to it. One number is not enough. In a
/// new namespace, a child can have the same number as its parent, such as 1. And the library does not count forks by a raw `clone`, nor any forks in
/// a build without sites.
type Process = (u32, u32);

static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which this thread runs. (WebAssembly has no processes.)
fn process() -> Process {
    (if cfg!(target_family = "wasm") { 0 } else { std::process::id() }, FORKS.load(Ordering::Relaxed))
}

/// Counts a fork. Called in the child.
#[cfg(jumplabel_sites)]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

impl Guards {
    /// Returns the guards of this process. If there are none yet, or only those of a parent process, makes a new, empty list.
    fn of_process() -> &'static Guards {
        let mut found = GUARDS.load(Ordering::Acquire);
        loop {
            // SAFETY: the pointer is null, or `of_process` stored it. A stored list is never freed.
            if let Some(guards) = unsafe { found.as_ref() }
                && guards.process == process()
            {
                return guards;
            }
            let new = Guards { process: process(), list: Mutex::new(Vec::new()), gone: Condvar::new() };
            let new = Box::into_raw(Box::new(new));
            match GUARDS.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: `new` came from `into_raw`. It is now in `GUARDS`, and what is stored there is never freed.
                Ok(_) => return unsafe { &*new },
                Err(now) => {
                    // SAFETY: `new` came from `into_raw`. The exchange failed, so no other code has seen the pointer.
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

/// A guard of a key. It has set the state of the key. When the guard is dropped, even by a panic, the key gets its old state back. If that flip is
/// refused, the key stays as it is. [`RawKey::scoped`] makes guards.
#[derive(Debug)]
#[must_use = "the key goes back to its state when the guard is dropped"]
pub struct KeyGuard {
    key: &'static RawKey,
    /// The state that the guard will restore; `None` if there is nothing to restore.
    before: Option<bool>,
    /// The list in which this guard is.
    guards: &'static Guards,
}

impl RawKey {
    /// Turns the key on or off until the guard is dropped. This is for tests and tools.
    ///
    /// Only one thread at a time has a guard of a key: another thread that calls `scoped` for this key waits. (Other processes, and other instances
    /// of the library, do not wait.) So tests that need different states of a key can run at the same time. `enable`, `inc` and similar functions do
    /// not wait for a guard. If a program has guards of several keys, all threads must take them in the same order. Otherwise two threads can wait
    /// for each other for ever.
    ///
    /// A guard identifies its key only by the address. So the key must be a static, or leaked. Otherwise another key could later lie at the same
    /// address, and a guard that was forgotten would count as a guard of that key.
    ///
    /// If a deferred dec is due, a user has left the key but is still counted. The guard ignores that user: if the key has no other user, the guard
    /// restores "off".
    ///
    /// A guard belongs to its thread. So in async code, do not keep a guard across an `await`: if another task on that thread asks for a guard of the
    /// same key, it gets an error instead of waiting.
    ///
    /// Costs a lock and an allocation by the program's allocator. If the guard changes the state, making it costs a flip, and dropping it costs
    /// another. Not safe in signal handlers.
    ///
    /// In a forked child, guards that were made before the fork count no longer: no thread waits for them, and the thread that made such a guard can
    /// make a second one of the same key. The guards of the parent's other threads are never dropped in the child, so their keys stay as they are. Do
    /// not call `scoped` in a child that shares the parent's memory (`vfork`, `clone(CLONE_VM)`): the parent's guards would no longer count in the
    /// parent, either.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread already has a guard of the key. The errors of [`enable`](Self::enable) and [`disable`](Self::disable). On
    /// an error, there is no guard, and nothing has changed.
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
        // If the flip is refused, the function returns early and drops this guard. It restores nothing then, because `before` is `None`.
        let mut guard = KeyGuard { key: self, before: None, guards };
        let mut lock = patch::locked(&[Request::new(self, 0)])?;
        let before = self.is_held();
        change_locked(self, Change::to(on), &mut lock)?;
        guard.before = Some(before);
        Ok(guard)
    }
}

impl KeyGuard {
    /// Restores the old state, as dropping the guard does, and returns the outcome.
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
