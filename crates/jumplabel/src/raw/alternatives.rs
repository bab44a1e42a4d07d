//! The alternatives of an object as table entries and transactions see them.

use super::key::RawKey;

/// A key, which is on if they were applied. One for each object that has alternatives.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct RawAlternatives(pub(crate) RawKey);

impl RawAlternatives {
    pub(crate) fn of(key: &RawKey) -> &RawAlternatives {
        // SAFETY: the one has the layout of the other.
        unsafe { &*core::ptr::from_ref(key).cast() }
    }
}
