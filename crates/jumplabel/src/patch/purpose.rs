//! The reasons for which a transaction looks at sites.

use super::patchable::Comparison;
use crate::arch::Native;
use crate::format::Entry;

/// The reason for which a transaction looks at sites. It decides which sites the transaction changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The setting of the sites' patchable changes.
    Change,
    /// The setting stays as it is, but something outside the library may have changed the sites. Those that do not do what their patchable says are
    /// repaired.
    Repair,
    /// As `Repair`, but alternatives are repaired, too. Allowed only if there is no other thread, because another thread could be between two
    /// instructions of an alternative.
    #[cfg(jumplabel_alternatives)]
    RepairAll,
    /// As `Repair`, because the sites' object was just loaded, or the process was forked. So the sites can also be in the middle of a change.
    #[cfg(jumplabel_sites)]
    CatchUp,
    /// Sites that still load their key are patched, if their key says that they fall through. No other site is patched.
    Prepare,
    /// The sites continue to do the same, but get the state that the compiler emits for that.
    RestorePristine,
}

impl Purpose {
    /// Whether the transaction changes a site that is not in its wanted state. `stays` says whether a site may stay as it is if it can, although
    /// its patchable changes.
    ///
    /// A site that loads is a jump to its stub. On some instruction sets, it falls through for a moment while it becomes another jump. So it
    /// becomes a jump straight to its arm only in a change, because until then falling through was right.
    #[inline(never)]
    pub(super) fn writes(self, entry: &Entry, compared: &Comparison, stays: bool) -> bool {
        let falls = || compared.wanted.leads_nowhere::<Native>();
        match self {
            Purpose::Change => !(compared.can_stay && stays),
            Purpose::Prepare => compared.can_stay && entry.loads() && falls(),
            Purpose::RestorePristine => !compared.can_stay || falls(),
            _ => !compared.can_stay,
        }
    }
}
