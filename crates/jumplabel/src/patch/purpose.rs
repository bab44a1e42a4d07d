//! Why a transaction looks at sites.

/// Why a transaction looks at sites, and what it does about sites that are not as they shall be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The setting of their patchable changes.
    Change,
    /// Their patchable stays as it is, but something outside the library can have changed them. Sites that do not do what their patchable
    /// says are brought back.
    Repair,
    /// As `Repair`, but alternatives are brought back, too. Allowed only if there is no other thread, because another thread could be
    /// between two instructions of an alternative.
    #[cfg(jumplabel_alternatives)]
    RepairAll,
    /// As `Repair`, because their object was just loaded, or the process was forked. So the sites can also be in the middle of a change.
    #[cfg(jumplabel_sites)]
    CatchUp,
    /// Sites that still load their key are patched, if their key says that they fall through.
    #[cfg(jumplabel_sites)]
    Prepare,
    /// The sites shall do the same as now, but hold the state that the compiler emits for that.
    RestorePristine,
}
