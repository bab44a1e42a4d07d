//! Alternatives: instructions that are replaced by others if the processor has a feature. The program decides once, at its start (Linux:
//! `ALTERNATIVE`, `apply_alternatives`). x86-64.
//!
//! ```text
//!   compiled                        apply(), on a processor with popcnt
//!   e8 rel32        call count      f3 0f b8 c7   popcnt eax, edi
//!                                   90            nop
//! ```
//!
//! [`alternative!`](crate::alternative) writes one.

mod assembler;
#[cfg(jumplabel_alternatives)]
mod objects;

use crate::error::Error;
use crate::patch::Outcome;

/// Puts the instructions for the features that this processor has in their places, in all objects that are loaded: one transaction, all or
/// nothing. Call it before the first thread starts: an alternative may be several instructions, and a thread may be between two of them. In
/// objects where it was done already it only looks whether they are still there, so you may call it again after `dlopen`. An object for which it is not called
/// keeps its old instructions, which are right everywhere.
///
/// Costs a flip, and some `cpuid`.
///
/// # Errors
/// [`Error::MultiThreaded`] if other threads run; [`Error::UnfitAlternative`]; and everything that a transaction can meet. On any error,
/// nothing has changed.
///
/// Not async-signal-safe. Fork: the child has what the parent had.
pub fn apply() -> Result<Outcome, Error> {
    #[cfg(jumplabel_alternatives)]
    return objects::apply();
    #[cfg(not(jumplabel_alternatives))]
    Ok(Outcome::default())
}

/// Whether this processor has a feature, and the system keeps its registers: `has("avx2")`. False for a name that is not known, and where there
/// are no alternatives. Async-signal-safe.
#[must_use]
pub fn has(feature: &str) -> bool {
    #[cfg(jumplabel_alternatives)]
    return crate::arch::features::number(feature).is_some_and(crate::arch::features::is_present);
    #[cfg(not(jumplabel_alternatives))]
    {
        let _ = feature;
        false
    }
}

/// [`has`], by the number that an alternative's arm has in a table.
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
