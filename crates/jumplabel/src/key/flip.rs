//! The methods that change a key: `enable`, `disable`, `inc`, `dec` and others.

use super::Key;
use crate::error::Error;
use crate::patch::{self, Lock, Outcome, Request, Settable};
use crate::platform::{Visibility, platform};
use crate::raw::count::{self, Change};
use crate::raw::key::RawKey;

impl RawKey {
    /// Turns the key on (Linux: `static_key_enable`). If the key's count is already 1, `enable` only looks at the sites, and repairs each site that
    /// something outside the library has changed, like [`verify`](crate::verify).
    ///
    /// When `enable` returns, every check that starts later, on any thread, takes the new arm. (If the system refuses core sync, this holds only a
    /// little later; the outcome then says [`Visibility::Eventual`].) Costs a few system calls and one interrupt of the other processors; see
    /// docs/how-it-works.md for figures. Blocks while another thread flips. Safe in signal handlers, constructors, and before and after `fork`.
    ///
    /// In async code, a flip blocks the thread that polls. A flip takes microseconds if [`prepare`](crate::prepare) was called before. It takes
    /// longer while other threads flip or hold a [`Lock`]. If that is too long, flip on a thread that your runtime keeps for blocking calls.
    /// # Errors
    /// [`Error::Counted`] if the key has several users, [`Error::Sealed`], and every error of a transaction. On any error except
    /// [`Error::RollbackFailed`], nothing has changed.
    pub fn enable(&self) -> Result<Outcome, Error> {
        change(self, Change::Enable)
    }

    /// Turns the key off (Linux: `static_key_disable`). If the key is off already, `disable` only looks at the sites. Otherwise like
    /// [`enable`](Self::enable).
    ///
    /// # Errors
    /// The errors of [`enable`](Self::enable).
    pub fn disable(&self) -> Result<Outcome, Error> {
        change(self, Change::Disable)
    }

    /// Adds one user (Linux: `static_key_slow_inc`). The first user turns the key on; every other `inc` is one compare-and-swap. When `inc` returns,
    /// the key is on. It stays on until the matching [`dec`](Self::dec). If core sync was refused when the key was turned on, each later `inc`
    /// reports [`Visibility::Eventual`], too, until a core sync has succeeded.
    ///
    /// # Errors
    /// [`Error::Overflow`] at `i32::MAX` users, and the errors of [`enable`](Self::enable).
    pub fn inc(&self) -> Result<Outcome, Error> {
        change(self, Change::Inc)
    }

    /// Removes one user (Linux: `static_key_slow_dec`). The last user turns the key off.
    ///
    /// # Errors
    /// [`Error::Underflow`] if the key is off, and the errors of [`enable`](Self::enable).
    pub fn dec(&self) -> Result<Outcome, Error> {
        change(self, Change::Dec)
    }

    /// [`enable`](Self::enable) for a caller that holds the lock (Linux: `static_key_enable_cpuslocked`). The key must be `'static`: when the lock is
    /// dropped, functions that were registered with [`on_change`](crate::on_change) get a reference to the key.
    ///
    /// # Errors
    /// The errors of [`enable`](Self::enable).
    pub fn enable_locked(&'static self, lock: &mut Lock) -> Result<Outcome, Error> {
        change_locked(self, Change::Enable, lock)
    }

    /// [`disable`](Self::disable) for a caller that holds the lock (Linux: `static_key_disable_cpuslocked`).
    ///
    /// # Errors
    /// The errors of [`disable`](Self::disable).
    pub fn disable_locked(&'static self, lock: &mut Lock) -> Result<Outcome, Error> {
        change_locked(self, Change::Disable, lock)
    }

    /// [`inc`](Self::inc) for a caller that holds the lock (Linux: `static_key_slow_inc_cpuslocked`).
    ///
    /// # Errors
    /// The errors of [`inc`](Self::inc).
    pub fn inc_locked(&'static self, lock: &mut Lock) -> Result<Outcome, Error> {
        change_locked(self, Change::Inc, lock)
    }

    /// [`dec`](Self::dec) for a caller that holds the lock (Linux: `static_key_slow_dec_cpuslocked`).
    ///
    /// # Errors
    /// The errors of [`dec`](Self::dec).
    pub fn dec_locked(&'static self, lock: &mut Lock) -> Result<Outcome, Error> {
        change_locked(self, Change::Dec, lock)
    }

    /// Forbids all further changes (Linux: a key in `__ro_after_init`). Idempotent. Afterwards, `enable` and `disable` still succeed if the key
    /// already has the wanted state. If a deferred dec is due, `seal` first counts off the user that has left, because no later call could do that.
    ///
    /// # Errors
    /// * [`Error::Overflow`] with `i32::MAX` users.
    /// * If the lock cannot be taken: [`Error::Reentrant`] in the middle of a flip, [`Error::OutOfMemory`], and [`Error::NoPlatform`] in a
    ///   kernel that has not called [`set_platform`](crate::set_platform).
    /// * If a deferred dec is due: the errors of [`dec`](Self::dec). Then the dec is still due, and the key is not sealed.
    pub fn seal(&self) -> Result<(), Error> {
        let mut lock = Lock::take()?;
        self.carry_out(&mut lock)?;
        // Ends an agent's loan of the key (`RawKey::is_lent`) while the key can be written: after the seal, the key may lie in read-only memory.
        self.set_lent(false);
        count::seal(self.word()).map_err(Error::from)
    }

    /// Looks at the key's sites, and repairs each site that something outside the library has changed. Works with any count, and for a sealed key,
    /// too. [`verify`](crate::verify) does the same for all keys. [`Outcome::sites`] is the number of repaired sites.
    ///
    /// Costs a read of each site. If there is something to repair, it also costs a flip.
    ///
    /// # Errors
    /// The errors of a flip. On any error except [`Error::RollbackFailed`], nothing has changed.
    pub fn verify(&self) -> Result<Outcome, Error> {
        patch::verify_one(self)
    }

    /// If a deferred dec is due, counts off the user that has left, and returns the outcome. If none is due, returns `None`. After an error, the dec
    /// is still due. Called under the lock.
    pub(crate) fn carry_out(&self, lock: &mut Lock) -> Result<Option<Outcome>, Error> {
        if !self.is_due() {
            return Ok(None);
        }
        let outcome = change_locked(self, Change::Dec, lock)?;
        self.set_due(false);
        Ok(Some(outcome))
    }
}

impl<'key> Request<'key> {
    /// Makes the request to carry out `change` on `key`.
    pub(crate) const fn of_key(key: &'key RawKey, change: Change) -> Request<'key> {
        Request::new(key, change as usize)
    }
}

impl Settable for RawKey {
    type Value = bool;
    fn request(&self, on: bool) -> Result<Request<'_>, Error> {
        Ok(Request::of_key(self, Change::to(on)))
    }
}

impl<K: Key> Settable for K {
    type Value = bool;
    fn request(&self, on: bool) -> Result<Request<'_>, Error> {
        // SAFETY: `K` implements `Key`, so `self` begins with a `RawKey`.
        unsafe { &*core::ptr::from_ref(self).cast::<RawKey>() }.request(on)
    }
}

/// Changes one key. If the key stays on and only the number of its users changes, this takes no lock, except to try a refused core sync again.
/// Otherwise it commits a transaction of one change.
pub(crate) fn change(key: &RawKey, change: Change) -> Result<Outcome, Error> {
    if count::fast(key.word(), change).is_some() {
        return Ok(unpatched(key, change, None));
    }
    patch::commit(&[Request::of_key(key, change)])
}

/// [`change`] for a caller that holds the lock.
pub(crate) fn change_locked(key: &RawKey, change: Change, lock: &mut Lock) -> Result<Outcome, Error> {
    if count::fast(key.word(), change).is_some() {
        return Ok(unpatched(key, change, Some(lock)));
    }
    patch::commit_locked(&[Request::of_key(key, change)], lock)
}

/// Makes the outcome of a change that patched nothing.
#[inline(never)] // This is a function of its own, so that a change that patches something uses less of the stack.
fn unpatched(key: &RawKey, change: Change, lock: Option<&mut Lock>) -> Outcome {
    let visibility = if key.is_eventual() { still_eventual(key, change, lock) } else { Visibility::Immediate };
    Outcome { visibility, ..Outcome::default() }
}

/// Returns the visibility of a change that patched nothing. The last flip of the key had no core sync. Only `inc` tries the core sync again, because
/// its new user relies on the key being on. `inc` tries only if the last core sync of the process succeeded: then this one may succeed, too.
#[cold]
fn still_eventual(key: &RawKey, change: Change, lock: Option<&mut Lock>) -> Visibility {
    if change != Change::Inc || !platform().is_synced() {
        return Visibility::Eventual;
    }
    let sync = |lock: &mut Lock| patch::sync_again(key, &mut lock.platform_state);
    match lock {
        Some(lock) => sync(lock),
        None => Lock::take().map_or(Visibility::Eventual, |mut lock| sync(&mut lock)),
    }
}

/// Puts the pristine nop back at those sites of a key that are primed and fall through. A nop costs a fraction of a nanosecond less than the primed
/// `test` (docs/benchmarks.md has the figures). Costs a flip with two core syncs. The next flip of those sites costs as much as their first flip.
/// Does nothing to sites that jump.
///
/// # Errors
/// The errors of [`RawKey::enable`].
pub fn restore_pristine(key: &RawKey) -> Result<Outcome, Error> {
    patch::restore_pristine(key)
}
