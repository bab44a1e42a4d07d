//! One key that a transaction flips.

use jumplabel::{Batch, Error, Outcome};

use crate::sites::Array;

/// A change of one key in a transaction.
#[derive(Clone, Copy)]
pub struct Change {
    pub array: &'static Array,
    pub key: usize,
    pub on: bool,
}

impl Change {
    /// A change to the other state.
    pub fn toggle(array: &'static Array, key: usize) -> Change {
        Change { array, key, on: !array.keys[key].is_enabled() }
    }

    pub fn carry_out(self) -> Result<Outcome, Error> {
        let key = &self.array.keys[self.key];
        if self.on { key.enable() } else { key.disable() }
    }
}

/// A batch of all changes.
pub fn batch(changes: &[Change]) -> Batch<'static> {
    changes.iter().fold(Batch::new(), |batch, change| batch.set(&change.array.keys[change.key], change.on))
}
