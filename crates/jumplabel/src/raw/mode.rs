//! A mode as tables and transactions see it: a number, without a type.

use core::sync::atomic::{AtomicU8, Ordering};

use super::flags::Flags;

/// A static mode without its type, as table entries and batches refer to it.
#[repr(C, align(8))]
pub struct RawMode {
    /// The mode whose arm a thread takes if it executes a site in the middle of the site's change. The stubs load this byte. `shown` is the first
    /// byte, so the stubs use the address of the `RawMode`.
    shown: AtomicU8,
    mode: AtomicU8,
    count: u8,
    flags: Flags,
}

impl RawMode {
    const SEALED: u32 = 1 << 0;
    const EVENTUAL: u32 = 1 << 1;
    /// A flag: the mode belongs to a table of operations.
    const TABLE: u32 = 1 << 2;
    /// A flag: an agent has set the mode for a while, and the program has not asked for a mode since then.
    const LENT: u32 = 1 << 3;

    pub(crate) const fn new(mode: u8, count: u8, is_table: bool) -> RawMode {
        let flags = if is_table { Self::TABLE } else { 0 };
        RawMode { shown: AtomicU8::new(mode), mode: AtomicU8::new(mode), count, flags: Flags::new(flags) }
    }

    /// Whether this is the mode of a table of operations. Only [`Ops::set`](crate::Ops::set) changes such a mode, together with the table's
    /// calls.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.flags.has(Self::TABLE)
    }

    /// The address of the mode, to which table entries lead.
    #[must_use]
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// The number of the current mode. Another thread can set the mode as soon as this returns, unless the caller prevents that.
    #[must_use]
    #[inline]
    pub fn get(&self) -> u8 {
        self.mode.load(Ordering::Acquire)
    }

    /// The number of modes.
    #[must_use]
    pub const fn count(&self) -> u8 {
        self.count
    }

    /// From now on, a thread that comes to a site while the site is changed goes to the arm of `mode`. Called under the lock.
    pub(crate) fn expose(&self, mode: u8) {
        self.shown.store(mode, Ordering::SeqCst);
    }

    /// Publishes `mode`. Called under the lock, when all sites jump to the arm of `mode`.
    pub(crate) fn publish(&self, mode: u8) {
        self.mode.store(mode, Ordering::Release);
    }

    /// Whether the mode was sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.flags.has(Self::SEALED)
    }

    /// Seals the mode. Called under the lock.
    pub(crate) fn set_sealed(&self) {
        self.set_lent(false);
        self.flags.set(Self::SEALED, true);
    }

    /// Whether an agent has set the mode for a while, and the program has not asked for a mode since then.
    #[doc(hidden)]
    #[must_use]
    pub fn is_lent(&self) -> bool {
        self.flags.has(Self::LENT)
    }

    /// Sets the answer of [`is_lent`](Self::is_lent). Called under the lock.
    pub(crate) fn set_lent(&self, lent: bool) {
        self.flags.set(Self::LENT, lent);
    }

    /// Whether other threads may still take the arm of the previous mode.
    pub(crate) fn is_eventual(&self) -> bool {
        self.flags.has(Self::EVENTUAL)
    }

    /// Sets the answer of [`is_eventual`](Self::is_eventual). Called under the lock.
    pub(crate) fn set_eventual(&self, eventual: bool) {
        self.flags.set(Self::EVENTUAL, eventual);
    }
}

impl core::fmt::Debug for RawMode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "StaticMode({} of {})", self.get(), self.count)
    }
}
