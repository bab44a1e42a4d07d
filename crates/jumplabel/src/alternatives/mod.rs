//! Alternatives: instructions that the program replaces by others if the processor has a feature. The program replaces them once, at its start
//! (Linux: `ALTERNATIVE`, `apply_alternatives`). Alternatives exist only on x86-64, and not on Windows.
//!
//! ```text
//!   compiled                        apply(), on a processor with popcnt
//!   e8 rel32        call count      f3 0f b8 c7   popcnt eax, edi
//!                                   90            nop
//! ```
//!
//! [`alternative!`](crate::alternative) emits the instructions, and [`apply`] replaces them.

mod assembler;
#[cfg(jumplabel_alternatives)]
mod objects;

use crate::error::Error;
use crate::patch::Outcome;

/// Replaces the instructions of all alternatives by those for the features that this processor has, in all loaded objects: one transaction, all or
/// nothing. Call it before the second thread starts: an alternative can be several instructions, and another thread could be between two of them. You
/// can call `apply` again after `dlopen`. In objects that an earlier call has changed, it only looks whether the new instructions are still there. An
/// object that was loaded after the last call keeps its old instructions, which are right on every processor.
///
/// Costs a flip, and some `cpuid` instructions.
///
/// # Errors
/// [`Error::MultiThreaded`] if other threads run; [`Error::UnfitAlternative`]; and every error of a transaction. On any error except
/// [`Error::RollbackFailed`], nothing has changed.
///
/// Not async-signal-safe. After a fork, the child has the same instructions in place as its parent.
pub fn apply() -> Result<Outcome, Error> {
    #[cfg(jumplabel_alternatives)]
    return objects::apply();
    #[cfg(not(jumplabel_alternatives))]
    Ok(Outcome::default())
}

/// Whether this processor has the feature with this name: `has("avx2")`. For a feature with registers of its own, the system must also save these
/// registers for each thread. False for a name that the library does not know, and in builds without alternatives. Async-signal-safe.
#[must_use]
pub fn has(feature: &str) -> bool {
    has_named(feature.as_bytes())
}

/// [`has`] for a name that need not be UTF-8.
#[doc(hidden)] // For the C API.
#[must_use]
pub fn has_named(feature: &[u8]) -> bool {
    #[cfg(jumplabel_alternatives)]
    return crate::arch::features::number(feature).is_some_and(crate::arch::features::is_present);
    #[cfg(not(jumplabel_alternatives))]
    {
        let _ = feature;
        false
    }
}

/// [`has`] by the feature's number. The arms of an alternative name their feature by such a number.
#[doc(hidden)]
#[must_use]
pub fn has_number(feature: u32) -> bool {
    #[cfg(jumplabel_alternatives)]
    return crate::arch::features::is_present(feature);
    #[cfg(not(jumplabel_alternatives))]
    {
        let _ = feature;
        false
    }
}
