//! Why a transaction looks at sites.

/// Why sites are looked at, and what is done about those that are not as they shall be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Their patchable changes.
    Change,
    /// Their patchable stays. Something outside the library may have changed them: those that do something else are brought back.
    Repair,
    /// As `Repair`, alternatives included: there is no other thread, which could be between two of their instructions.
    #[cfg(jumplabel_alternatives)]
    RepairAll,
    /// Their object was just loaded, or the process was forked: as `Repair`, but they may also be in the middle of a change.
    #[cfg(jumplabel_sites)]
    CatchUp,
    /// Those of them that load shall do without that.
    #[cfg(jumplabel_sites)]
    Prepare,
    /// They shall hold what the compiler emits for what they do.
    RestorePristine,
}
