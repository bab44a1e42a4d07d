//! A table of operations as table entries and transactions see it.

use crate::switch::raw::RawMode;

/// A table of operations without its type: a mode, which is the number of the backend.
#[repr(transparent)]
#[derive(Debug)]
pub struct RawOps(RawMode);

impl RawOps {
    /// The mode.
    #[must_use]
    pub const fn mode(&self) -> &RawMode {
        &self.0
    }

    pub(super) const fn of(mode: &RawMode) -> &RawOps {
        // SAFETY: transparent.
        unsafe { &*core::ptr::from_ref(mode).cast() }
    }
}
