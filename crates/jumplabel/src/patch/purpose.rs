//! Why a transaction looks at sites.

use crate::arch::{Native, State};

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

impl Purpose {
    /// Whether a site stays as it is although it shall be in the state `wanted`. The caller found that the site does what is wanted by a
    /// longer way. `stays` says whether such a site stays if its patchable changes.
    ///
    /// A site that loads jumps, and to jump elsewhere, on some instruction sets, it falls through for a moment. So it jumps straight to its
    /// arm only in a change: up to then it was right to fall through.
    pub(super) fn leaves(self, wanted: State, stays: bool) -> bool {
        let falls = wanted.leads_nowhere::<Native>();
        match self {
            Purpose::Change => stays,
            #[cfg(jumplabel_sites)]
            Purpose::Prepare => !falls,
            Purpose::RestorePristine => !falls,
            _ => true,
        }
    }
}
