//! The flags of a key, a static call or a mode. The types `RawKey`, `RawCall` and `RawMode` define the bits.

use core::sync::atomic::{AtomicU32, Ordering};

/// Bits that are changed under the lock, and can be read at any time.
#[repr(transparent)]
pub(crate) struct Flags(AtomicU32);

impl Flags {
    pub(crate) const fn new(bits: u32) -> Flags {
        Flags(AtomicU32::new(bits))
    }

    pub(crate) fn has(&self, flag: u32) -> bool {
        self.0.load(Ordering::Relaxed) & flag != 0
    }

    /// Sets or clears a flag. If the flag already has the wanted value, writes nothing, because the flags may lie in read-only memory. Called under
    /// the lock.
    pub(crate) fn set(&self, flag: u32, on: bool) {
        let flags = self.0.load(Ordering::Relaxed);
        if (flags & flag != 0) != on {
            self.0.store(flags ^ flag, Ordering::Relaxed);
        }
    }
}
