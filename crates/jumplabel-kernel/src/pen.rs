//! Writes through the kernel's alias: the text itself stays read-only.

use jumplabel::Refusal;
use jumplabel::platform::{Write, Writer};

use crate::Machine;

pub(crate) struct Pen<'a, M: Machine> {
    pub(crate) machine: &'a M,
    /// Makes all CPUs serialise, once the writes of a step are done.
    pub(crate) serialise: &'a dyn Fn() -> Result<(), Refusal>,
    /// Whether some CPU did not serialise.
    pub(crate) unsynced: bool,
}

/// The size of a page in bytes, or of a part of one: the smallest size of all kernels.
const PAGE: usize = 4096;

impl<M: Machine> Writer for Pen<'_, M> {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for (at, write) in writes.iter().enumerate() {
            // On x86 a site may lie on two pages. Then its change is never one word.
            let here = (PAGE - write.address % PAGE).min(write.bytes().len());
            let (first, second) = write.bytes().split_at(here);
            let parts = [(write.address, first), (write.address + here, second)];
            // A write is carried out whole or not at all: if a part of it stayed after a refusal, nobody would undo that part.
            let map = |at_second: bool| match at_second && second.is_empty() {
                true => Ok(None),
                false => self.machine.map(write.address + if at_second { here } else { 0 }).map(Some),
            };
            let refuse = |refusal| (at, refusal);
            let alias = map(false).map_err(refuse)?;
            let behind = map(true).inspect_err(|_| alias.into_iter().for_each(|alias| self.machine.unmap(alias)));
            let aliases = [alias, behind.map_err(refuse)?];
            for ((address, bytes), alias) in parts.into_iter().zip(aliases) {
                let Some(alias) = alias else { continue };
                // SAFETY: the alias of a site's bytes. The alias has the same place in its page, and in its line of the cache, as the site.
                unsafe { Write::new(alias, bytes, write.is_single_store()).store() };
                self.machine.clean(address, alias, bytes.len());
                self.machine.unmap(alias);
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        let synced = (self.serialise)();
        self.unsynced |= synced.is_err();
        synced
    }
}
