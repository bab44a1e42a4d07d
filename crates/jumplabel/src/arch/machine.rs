//! The trait that each instruction set implements for its processors.

use super::{Act, Caches};

/// The cache maintenance that a processor needs after stores to code.
pub trait Machine {
    /// The acts of cache maintenance that the processor needs.
    fn caches() -> Caches;

    /// Carries out one act of cache maintenance.
    ///
    /// # Safety
    /// The address in `act` is that of a site, which is mapped and readable.
    unsafe fn act(act: Act);
}
