//! Collects the changes for all sites of an object, whichever patchables they belong to.

use super::patchable::{Comparison, in_fork, nothing, of};
use super::plan::{Manner, Plan};
use super::purpose::Purpose;
use crate::error::Error;
use crate::format::Object;
use crate::platform::{Held, Objects};
use crate::site::{index, readable};

impl Plan {
    /// Adds the changes that set the sites of `object` to the states that the settings of their patchables ask for. If that is impossible for a site,
    /// skips the site. The next change of its patchable then reports the error.
    pub(super) fn collect_object(
        &mut self,
        object: &Object,
        purpose: Purpose,
        held: &Held<Objects>,
    ) -> Result<(), Error> {
        self.manner = Manner::AsFarAsPossible;
        self.changes.reserve(object.table().len(), held.platform())?;
        let otherwise = if purpose == Purpose::CatchUp { in_fork } else { nothing };
        for (entry, address) in index::sound(object, held) {
            if readable::hidden(entry).is_some() {
                self.findings.skipped = true;
                continue;
            }
            // SAFETY: the index found the entry sound, and the lock is held. The object of the entry's patchable was loaded before this
            // object.
            let Some(patchable) = (unsafe { of(entry, address) }) else { continue };
            // SAFETY: the index found the entry sound, and the lock keeps its object loaded.
            let compared = unsafe { Comparison::at(entry, patchable, patchable.setting(), false, otherwise) };
            let Ok(compared) = compared else {
                self.findings.skipped = true;
                continue;
            };
            // If a site already does the wanted action by a longer way, it stays as it is until the next change of its patchable. (The exception is
            // `Purpose::Prepare`, which writes sites that load and should fall through.)
            let due = purpose.writes(entry, &compared, true);
            #[cfg(jumplabel_alternatives)]
            if entry.is_alternative() && purpose != Purpose::RepairAll {
                self.findings.alternatives |= compared.change.is_some();
                continue;
            }
            if let Some(change) = compared.change.filter(|_| due) {
                self.changes.push(change, held.platform())?;
            }
        }
        Ok(())
    }
}
