//! [`Purpose`]: the reason for which a transaction looks at sites.

use super::patchable::Comparison;
use crate::arch::Native;
use crate::format::Entry;

/// The reason for which a transaction looks at sites. The purpose determines which of these sites the transaction changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The setting of the sites' patchable changes.
    Change,
    /// The setting stays as it is, but something outside the library may have changed the sites. Sites that do not do what their patchable says are
    /// repaired.
    Repair,
    /// Like `Repair`, but alternatives are repaired, too. Allowed only if there is no other thread, because another thread could be between two
    /// instructions of an alternative.
    #[cfg(jumplabel_alternatives)]
    RepairAll,
    /// Like `Repair`, but the sites' object was just loaded, or the process was forked. So the sites can also be in the middle of a change.
    #[cfg(jumplabel_sites)]
    CatchUp,
    /// Sites that still load their key are patched, if their key says that they fall through. No other site is patched.
    Prepare,
    /// The sites continue to do the same action, but get the state that the compiler emits for it.
    RestorePristine,
}

impl Purpose {
    /// Whether the transaction changes a site that is not in its wanted state. If `stays` is true, even a `Change` leaves a site alone that already
    /// does the wanted action by a longer way.
    ///
    /// A site that loads is a jump to its stub. On some instruction sets, the site falls through for a moment while it becomes a jump straight to its
    /// arm. That is right only if the site fell through up to then, which is so in a `Change`. So the other purposes leave a site alone if it loads
    /// and should jump.
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
