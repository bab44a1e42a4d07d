//! What a transaction did.

use core::time::Duration;

use crate::platform::{Visibility, Warnings, WriterKind};

/// What a flip did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Sites whose instruction was changed.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Sites that were pristine: they cost two more core syncs for the whole batch, once.
    pub primed: usize,
    /// Sites of keys declared `or_load` that could do without loading and go on with it, because the system refused to patch them; see
    /// [`OrLoadKey`](crate::OrLoadKey).
    pub loading: usize,
    /// What wrote; `None` if no site had to change.
    pub writer: Option<WriterKind>,
    /// When other threads see it. If there was nothing to write: when they see the flip that wrote it.
    pub visibility: Visibility,
    /// What went wrong without being an error.
    pub warnings: Warnings,
    /// From the moment at which the lock is held until the last protection is back.
    pub time: Duration,
}
