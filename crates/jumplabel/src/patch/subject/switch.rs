//! Static modes as subjects: a change is the number of a mode, and so is an aim.

#[cfg(jumplabel_sites)]
use super::OptionalKind;
use super::Subject;
use crate::error::Error;
use crate::format::Entry;
use crate::switch::raw::RawMode;
use crate::text::{Held, Objects};
#[cfg(jumplabel_sites)]
use crate::{
    arch::{Kind, Native},
    format::SWITCH,
};

impl Subject for RawMode {
    fn address(&self) -> usize {
        self.address()
    }

    fn begin(&self, change: usize, _: &Held<Objects>) -> Result<Option<usize>, Error> {
        if self.is_table() {
            return Err(Error::IsTable);
        }
        let aim = self.aim_of(change)?;
        #[cfg(jumplabel_sites)]
        if aim.is_some() {
            MODES.register();
        }
        Ok(aim)
    }

    fn aim(&self) -> usize {
        self.get().into()
    }

    /// The arm. 0 if the table has none for that mode.
    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        entry.arms().iter().find(|arm| arm.mode() as usize == aim).map_or(0, |arm| arm.address())
    }

    fn expose(&self, aim: usize) {
        self.expose(aim as u8);
    }

    fn publish(&self, _change: usize, aim: Option<usize>) {
        if let Some(mode) = aim {
            self.publish(mode as u8);
        }
    }

    fn abandon(&self) {
        self.expose(self.get());
    }

    fn is_eventual(&self) -> bool {
        self.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.set_eventual(eventual);
    }
}

impl RawMode {
    /// What a change to a mode comes to.
    pub(super) fn aim_of(&self, change: usize) -> Result<Option<usize>, Error> {
        match change {
            same if same == self.aim() => Ok(None),
            none if none >= usize::from(self.count()) => Err(Error::NoSuchMode { count: self.count() }),
            _ if self.is_sealed() => Err(Error::Sealed),
            other => Ok(Some(other)),
        }
    }
}

#[cfg(jumplabel_sites)]
// SAFETY: what the macro emits for this kind.
static MODES: OptionalKind =
    unsafe { OptionalKind::new(SWITCH, |address| &*(address as *const RawMode), Kind::leads_somewhere::<Native>) };
