//! The contract of a processor.

use super::{Act, Caches};

/// What a processor needs after stores to code.
pub trait Machine {
    /// Which acts it needs.
    fn caches() -> Caches;

    /// Carries out one act.
    ///
    /// # Safety
    /// Addresses are those of sites, mapped and readable.
    unsafe fn act(act: Act);
}
