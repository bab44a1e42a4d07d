//! What each writer of Linux implements.

use crate::platform::{Body, Extent, Failure, Held};

/// A writer of this platform.
pub(super) trait Open {
    /// Makes `extents` writable and runs `body`, as [`Platform::open`](crate::platform::Platform::open) does for the writer that was proven.
    ///
    /// # Safety
    /// As for [`Platform::open`](crate::platform::Platform::open).
    unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure>;
}
