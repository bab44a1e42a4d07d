//! The trait that each of the three writers of Linux implements.

use crate::platform::{Body, Extent, Failure, Held};

/// Opens a writer.
pub(super) trait Open {
    /// Makes `extents` writable, runs `body` with the open writer, and restores the pages. The self-test of the writer also calls this function, so
    /// the writer may not have passed the test yet.
    ///
    /// # Safety
    /// The contract of [`Platform::open`](crate::platform::Platform::open).
    unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure>;
}
