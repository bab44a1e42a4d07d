//! A key as tables and transactions see it: a counter and flags, without a type. The functions that flip a key are in `key::flip`.

use core::sync::atomic::{AtomicI32, Ordering};

use super::count::{self, Change, Misuse};
use super::flags::Flags;
use crate::error::Error;
use crate::format::KEY_BYTES;

/// A key without its type, as tables and batches refer to it. C calls it `struct static_key`.
#[repr(C, align(8))]
pub struct RawKey {
    word: AtomicI32,
    flags: Flags,
}

impl RawKey {
    const DEFAULT_TRUE: u32 = 1 << 0;
    /// A flag: one of the counted users has left by `dec_deferred`. The flag is in the key, so that every instance of the library sees it.
    const DUE: u32 = 1 << 1;
    /// A flag: the key's sites were changed without a core sync, and no core sync is known to have succeeded since then.
    const EVENTUAL: u32 = 1 << 2;
    /// A flag: an agent has set the key for a while, and the program has not asked for a state since then.
    const LENT: u32 = 1 << 3;

    pub(crate) const fn new(default: bool) -> RawKey {
        let flags = if default { Self::DEFAULT_TRUE } else { 0 };
        RawKey { word: AtomicI32::new(default as i32), flags: Flags::new(flags) }
    }

    /// Whether a deferred dec is due. Called under the lock.
    pub(crate) fn is_due(&self) -> bool {
        self.flags.has(Self::DUE)
    }

    /// Whether the key has a user that has not left by `dec_deferred`. If no user comes or goes, this will be the key's state after the due dec.
    /// Another thread can change the result as soon as this returns, unless the caller holds the lock.
    #[doc(hidden)]
    #[must_use]
    pub fn is_held(&self) -> bool {
        let leaving = i32::from(self.is_due());
        self.count() > leaving
    }

    /// Sets whether a deferred dec is due. Called under the lock.
    pub(crate) fn set_due(&self, due: bool) {
        self.flags.set(Self::DUE, due);
    }

    /// Whether other threads may still execute the bytes that the sites held before the last flip.
    pub(crate) fn is_eventual(&self) -> bool {
        self.flags.has(Self::EVENTUAL)
    }

    /// Sets the answer of [`is_eventual`](Self::is_eventual). Called under the lock, before the count is published, because an `inc` without the lock
    /// that finds the new count must also see the flag.
    pub(crate) fn set_eventual(&self, eventual: bool) {
        self.flags.set(Self::EVENTUAL, eventual);
    }

    /// Whether an agent has set the key for a while, and the program has not asked for a state since then.
    #[doc(hidden)]
    #[must_use]
    pub fn is_lent(&self) -> bool {
        self.flags.has(Self::LENT)
    }

    /// Sets the answer of [`is_lent`](Self::is_lent). Called under the lock.
    pub(crate) fn set_lent(&self, lent: bool) {
        self.flags.set(Self::LENT, lent);
    }

    pub(crate) fn word(&self) -> &AtomicI32 {
        &self.word
    }

    /// The address of the key, to which table entries lead.
    #[must_use]
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// The key's default.
    #[must_use]
    pub fn default_state(&self) -> bool {
        self.flags.has(Self::DEFAULT_TRUE)
    }

    /// Whether the key is on (Linux: `static_key_enabled`). Costs one load, and is no barrier. Safe anywhere. The result becomes true after all sites
    /// are on, and false after all sites are off. Another thread may flip the key as soon as this returns, unless the caller prevents that.
    #[must_use]
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.word.load(Ordering::Relaxed) & i32::MAX != 0
    }

    /// The number of users (Linux: `static_key_count`). Costs one load. Safe anywhere. As with [`Self::is_enabled`], another thread can change the
    /// number as soon as this returns.
    #[must_use]
    #[inline]
    pub fn count(&self) -> i32 {
        count::users(self.word.load(Ordering::Relaxed))
    }

    /// Adds a user to a key that is already on (Linux: `static_key_fast_inc_not_disabled`). Returns false if the key is off, going off, sealed, or
    /// has the largest possible number of users. Never patches and never blocks. Unlike [`inc`](Self::inc), this function does not return a
    /// [`Visibility`](crate::Visibility).
    #[must_use]
    pub fn fast_inc_not_disabled(&self) -> bool {
        count::fast(&self.word, Change::Inc).is_some()
    }

    /// Whether the key was sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        count::sealed(&self.word)
    }
}

/// Shows a key of any type as `StaticKey(on, count 2)`.
impl core::fmt::Debug for RawKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (state, sealed) =
            (["off", "on"][usize::from(self.is_enabled())], ["", ", sealed"][usize::from(self.is_sealed())]);
        write!(f, "StaticKey({state}, count {}{sealed})", self.count())
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Error {
        match misuse {
            Misuse::Overflow => Error::Overflow,
            Misuse::Underflow => Error::Underflow,
            Misuse::Counted(count) => Error::Counted { count },
            Misuse::Sealed => Error::Sealed,
        }
    }
}

// Tables rely on this size and alignment.
const _: () = assert!(size_of::<RawKey>() == KEY_BYTES && align_of::<RawKey>() == KEY_BYTES);
