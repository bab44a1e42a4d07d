//! Tables of operations as patchables: modes whose sites can hold instructions of the program.

use super::{Effect, Patchable};
use crate::error::Error;
use crate::format::Entry;
use crate::platform::{Held, Objects};
use crate::raw::ops::RawOps;
#[cfg(jumplabel_sites)]
use {
    super::{Comparison, Wanted},
    super::{Literal, OptionalKind, examine_all, torn},
    crate::arch::{Code, Kind, Native, Op, State},
    crate::format::{Arm, NAME, OP},
};

impl Patchable for RawOps {
    fn address(&self) -> usize {
        self.mode().address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Effect, Error> {
        #[cfg(not(jumplabel_sites))]
        let _ = held;
        #[cfg(jumplabel_sites)]
        {
            know();
            examine_all(self, held, examine)?;
        }
        self.mode().effect_of(change)
    }

    fn setting(&self) -> usize {
        self.mode().setting()
    }

    fn action(&self, setting: usize, entry: &Entry) -> usize {
        self.mode().action(setting, entry)
    }

    #[cfg(jumplabel_sites)]
    fn compare(&self, wanted: &Wanted<'_>, code: Code) -> Result<Comparison, usize> {
        wanted.compare_among(code, || literals(wanted.entry), torn::literal(wanted.entry, self, code))
    }

    #[cfg(jumplabel_sites)]
    fn literal(&self, entry: &Entry, action: usize) -> Option<Code> {
        literals(entry).find(|literal| literal.action == action).map(|literal| literal.code)
    }

    fn publish(&self, change: usize, setting: Option<usize>) {
        Patchable::publish(self.mode(), change, setting);
    }

    fn is_eventual(&self) -> bool {
        self.mode().is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.mode().set_eventual(eventual);
    }

    fn abandon(&self) {}
}

/// The arms of an operation that lead to an instruction. (The others lead to a stub, or to the operation's name.)
#[cfg(jumplabel_sites)]
fn instructions(entry: &Entry) -> impl Iterator<Item = &Arm> {
    entry.arms().iter().filter(|arm| arm.length() != 0 && arm.mode() != NAME)
}

/// The literals that the site can hold: one for each arm that [`instructions`] returns.
#[cfg(jumplabel_sites)]
fn literals(entry: &Entry) -> impl Iterator<Item = Literal> {
    instructions(entry).map(|arm| {
        let code = Native::moved(arm.bytes(), arm.address(), entry.code());
        Literal { state: State::IN_PLACE, code, action: arm.address() }
    })
}

/// Returns an error if an arm of the operation `entry` is not a single instruction that is fit for the site.
#[cfg(jumplabel_sites)]
fn examine(entry: &Entry) -> Result<(), Error> {
    if instructions(entry).all(|arm| Native::examine(arm.bytes()).is_ok()) {
        return Ok(());
    }
    let name = entry.arms().iter().find(|arm| arm.mode() == NAME).map_or(&[] as &[u8], Arm::bytes);
    // SAFETY: the name stays valid as long as its object is loaded. The documentation of [`Error::UnfitOp`] tells users that.
    let name: &'static [u8] = unsafe { &*core::ptr::from_ref(name) };
    Err(Error::UnfitOp { op: core::str::from_utf8(name).unwrap_or("(a name that is damaged)") })
}

/// Registers the optional kind `OP`, so that [`of`](super::of) finds the patchables of operations.
#[cfg(jumplabel_sites)]
pub(super) fn know() {
    OPS.register();
}

#[cfg(jumplabel_sites)]
// SAFETY: the macro leads the entries of this kind to a `RawOps`.
static OPS: OptionalKind =
    unsafe { OptionalKind::new(OP, |address| &*(address as *const RawOps), Kind::leads_somewhere::<Native>) };
