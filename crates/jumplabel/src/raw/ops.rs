//! A table of operations without its types, as the jump table's entries and transactions see it: a mode.

use super::mode::RawMode;

/// A table of operations without its type: a mode whose number is the number of the backend.
#[repr(transparent)]
#[derive(Debug)]
pub struct RawOps(RawMode);

impl RawOps {
    /// The mode of the table: the number of the backend.
    #[must_use]
    pub const fn mode(&self) -> &RawMode {
        &self.0
    }

    pub(crate) const fn of(mode: &RawMode) -> &RawOps {
        // SAFETY: a `RawOps` has the layout of its only field.
        unsafe { &*core::ptr::from_ref(mode).cast() }
    }
}
