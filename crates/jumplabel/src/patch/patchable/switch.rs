//! Static modes as patchables. The number of a change is the number of the new mode. The setting is the number of the present mode.

#[cfg(jumplabel_sites)]
use super::{Comparison, OptionalKind, Wanted, torn};
use super::{Effect, MODE, Patchable, lent};
use crate::error::Error;
use crate::format::{Arm, Entry};
use crate::platform::{Held, Objects};
use crate::raw::mode::RawMode;
#[cfg(jumplabel_sites)]
use crate::{
    arch::{Code, Kind, Native},
    format::SWITCH,
};

impl Patchable for RawMode {
    fn address(&self) -> usize {
        self.address()
    }

    fn begin(&self, change: usize, _: &Held<Objects>) -> Result<Effect, Error> {
        if self.is_table() {
            return Err(Error::IsTable);
        }
        if lent::is_over(change, self.is_lent()) {
            return Ok(Effect::None);
        }
        let effect = self.effect_of(lent::number(change))?;
        #[cfg(jumplabel_sites)]
        know();
        Ok(effect)
    }

    fn setting(&self) -> usize {
        self.get().into()
    }

    /// The address of the arm for the mode `setting`. 0 if the entry has no such arm.
    fn action(&self, setting: usize, entry: &Entry) -> usize {
        entry.arms().iter().find(|arm| arm.mode() as usize == setting).map_or(0, |arm| arm.address())
    }

    #[cfg(jumplabel_sites)]
    fn compare(&self, wanted: &Wanted<'_>, code: Code) -> Result<Comparison, usize> {
        match torn::literal(wanted.entry, self, code) {
            None => wanted.compare_states(code),
            torn => wanted.compare_torn(code, torn),
        }
    }

    /// The address of arm number `number` of the entry. The compiler may have emitted the site for any arm, and the entry does not say for which
    /// one.
    fn emitted(&self, entry: &Entry, number: usize) -> Option<usize> {
        entry.arms().get(number).map(Arm::address)
    }

    fn expose(&self, setting: usize) {
        self.expose(setting as u8);
    }

    fn publish(&self, change: usize, setting: Option<usize>) {
        let takes = setting.is_some_and(|setting| setting != self.setting());
        self.set_lent(lent::is_lent(change, self.is_lent(), takes, true));
        if let Some(mode) = setting {
            self.publish(mode as u8);
        }
    }

    fn abandon(&self) {
        self.expose(self.get());
    }

    fn notice_number(&self) -> usize {
        self.address() | MODE
    }

    fn is_eventual(&self) -> bool {
        self.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.set_eventual(eventual);
    }
}

impl RawMode {
    /// The effect of a change of this mode on the sites.
    pub(super) fn effect_of(&self, change: usize) -> Result<Effect, Error> {
        match change {
            same if same == self.setting() => Ok(Effect::Same(same)),
            none if none >= usize::from(self.count()) => Err(Error::NoSuchMode { count: self.count() }),
            _ if self.is_sealed() => Err(Error::Sealed),
            other => Ok(Effect::New(other)),
        }
    }
}

/// Registers the optional kind `SWITCH`, so that [`of`](super::of) finds the patchables of switches.
#[cfg(jumplabel_sites)]
pub(super) fn know() {
    MODES.register();
}

#[cfg(jumplabel_sites)]
// SAFETY: the macro leads the entries of this kind to a `RawMode`.
static MODES: OptionalKind =
    unsafe { OptionalKind::new(SWITCH, |address| &*(address as *const RawMode), Kind::leads_somewhere::<Native>) };
