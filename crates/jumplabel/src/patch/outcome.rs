//! What a transaction did.

use core::time::Duration;

use crate::platform::{Visibility, Warnings, WriterKind};

/// What a flip did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Sites whose instruction was changed.
    pub sites: usize,
    /// Pages that these sites begin on.
    pub pages: usize,
    /// Sites that took several steps. They were pristine or, on x86 and s390x, they are jumps that lead elsewhere now: of a static call, of
    /// a switch, or of a check that loaded its key. If there is one or more, the flip takes more core syncs, two at most.
    pub primed: usize,
    /// Sites of keys declared `or_load` that should no longer load, but still do, because the system refused to patch them. They do what
    /// their keys say. See [`OrLoadKey`](crate::OrLoadKey).
    pub loading: usize,
    /// The writer that wrote. `None` if no site had to change.
    pub writer: Option<WriterKind>,
    /// When other threads see the flip. If there was nothing to write, this is about the last flip of the same key, call or mode that wrote
    /// something.
    pub visibility: Visibility,
    /// What went wrong without being an error.
    pub warnings: Warnings,
    /// The time that the transaction took, without the wait for the lock.
    pub time: Duration,
}
