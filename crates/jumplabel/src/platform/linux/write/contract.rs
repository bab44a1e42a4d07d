//! What each writer of Linux implements.

use crate::platform::{Body, Extent, Failure, Held};

/// A writer of this platform.
pub(super) trait Open {
    /// Makes `extents` writable, and runs `body`. [`Platform::open`](crate::platform::Platform::open) does that with a writer that has
    /// passed its self-test.
    ///
    /// # Safety
    /// As for [`Platform::open`](crate::platform::Platform::open).
    unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure>;
}
