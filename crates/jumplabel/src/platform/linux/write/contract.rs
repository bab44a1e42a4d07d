//! The trait that each writer of Linux implements.

use crate::platform::{Body, Extent, Failure, Held};

/// A writer of this platform.
pub(super) trait Open {
    /// Makes `extents` writable, and runs `body`. [`Platform::open`](crate::platform::Platform::open) calls this for a writer that has passed its
    /// self-test.
    ///
    /// # Safety
    /// The contract of [`Platform::open`](crate::platform::Platform::open).
    unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure>;
}
