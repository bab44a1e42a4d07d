//! The alternatives of an object as table entries and transactions see them.

use super::key::RawKey;

/// The alternatives of an object: a key that is on if the alternatives were applied. Each object that has alternatives has one such key.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct RawAlternatives(pub(crate) RawKey);

impl RawAlternatives {
    pub(crate) fn of(key: &RawKey) -> &RawAlternatives {
        // SAFETY: a `RawAlternatives` has the layout of its only field.
        unsafe { &*core::ptr::from_ref(key).cast() }
    }
}
