//! The result of a transaction.

use core::time::Duration;

use crate::platform::{Visibility, Warnings, WriterKind};

/// The result of a flip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The number of sites whose instruction was changed.
    pub sites: usize,
    /// The number of pages on which these sites begin.
    pub pages: usize,
    /// The number of sites that took several steps. Such a site was pristine or, on x86 and s390x, its jump now leads to another place. (The jumps of
    /// static calls, of switches, and of checks that loaded their key can lead to several places.) If this number is not 0, the flip needed up to two
    /// more core syncs.
    pub primed: usize,
    /// The number of sites of keys declared `or_load` that still load, although they should not, because the system refused to patch them. These
    /// sites nevertheless do what their keys say. See [`OrLoadKey`](crate::OrLoadKey).
    pub loading: usize,
    /// The writer that wrote. `None` if no site was changed.
    pub writer: Option<WriterKind>,
    /// When other threads see the flip. If this flip wrote nothing, and the last flip of the same key, call or mode is not visible everywhere yet,
    /// this flip does the missing core sync. The value is then [`Visibility::Eventual`] only if the system refuses that core sync.
    pub visibility: Visibility,
    /// Problems, although the flip has succeeded.
    pub warnings: Warnings,
    /// The duration of the transaction, without the wait for the lock.
    pub time: Duration,
}
