//! The contract of a processor.

use super::{Act, Caches};

/// The acts that a processor needs after stores to code.
pub trait Machine {
    /// The acts that the processor needs.
    fn caches() -> Caches;

    /// Carries out one act.
    ///
    /// # Safety
    /// The address in `act` is that of a site, which is mapped and readable.
    unsafe fn act(act: Act);
}
