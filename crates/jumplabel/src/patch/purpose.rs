//! Why a transaction looks at sites.

/// Why a transaction looks at sites, and what it does about sites that are not as they shall be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Their patchable changes.
    Change,
    /// Their patchable stays as it is, but something outside the library can have changed them. Sites that do not do what their patchable
    /// says are brought back.
    Repair,
    /// As `Repair`, with alternatives. Allowed only if there is no other thread, because another thread could be between two instructions
    /// of an alternative.
    #[cfg(jumplabel_alternatives)]
    RepairAll,
    /// Their object was just loaded, or the process was forked. As `Repair`, but the sites can also be in the middle of a change.
    #[cfg(jumplabel_sites)]
    CatchUp,
    /// Sites that load their key shall do what it says without loading, if they can.
    #[cfg(jumplabel_sites)]
    Prepare,
    /// They shall hold what the compiler emits for what they do.
    RestorePristine,
}
