//! Tables of operations as subjects: modes whose sites may hold instructions of the program.

use super::Subject;
use crate::error::Error;
use crate::format::Entry;
use crate::ops::raw::RawOps;
use crate::text::{Held, Objects};
#[cfg(jumplabel_sites)]
use {
    super::{Found, Look},
    super::{OptionalKind, Own, examine_all},
    crate::arch::{Code, Kind, Native, Op, State},
    crate::format::{Arm, NAME, OP},
};

impl Subject for RawOps {
    fn address(&self) -> usize {
        self.mode().address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Option<usize>, Error> {
        #[cfg(not(jumplabel_sites))]
        let _ = held;
        #[cfg(jumplabel_sites)]
        {
            OPS.register();
            examine_all(self, held, examine)?;
        }
        // Also to what it is set to: an object that was loaded beside threads may have sites that could not be changed then.
        Ok(self.mode().aim_of(change)?.or((!self.mode().is_sealed()).then_some(change)))
    }

    fn aim(&self) -> usize {
        self.mode().aim()
    }

    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        self.mode().goal(aim, entry)
    }

    #[cfg(jumplabel_sites)]
    fn found(&self, look: &Look<'_>, code: Code) -> Option<Result<Found, usize>> {
        Some(look.among(code, || own(look.entry)))
    }

    #[cfg(jumplabel_sites)]
    fn own(&self, entry: &Entry, goal: usize) -> Option<Code> {
        own(entry).find(|own| own.goal == goal).map(|own| own.code)
    }

    fn publish(&self, change: usize, aim: Option<usize>) {
        Subject::publish(self.mode(), change, aim);
    }

    fn is_eventual(&self) -> bool {
        self.mode().is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.mode().set_eventual(eventual);
    }

    fn abandon(&self) {}
}

/// The arms of an operation that are instructions.
#[cfg(jumplabel_sites)]
fn instructions(entry: &Entry) -> impl Iterator<Item = &Arm> {
    entry.arms().iter().filter(|arm| arm.length() != 0 && arm.mode() != NAME)
}

/// What the site may hold of them.
#[cfg(jumplabel_sites)]
fn own(entry: &Entry) -> impl Iterator<Item = Own> {
    instructions(entry).map(|arm| {
        let code = Native::moved(arm.bytes(), arm.address(), entry.code());
        Own { state: State::IN_PLACE, code, goal: arm.address() }
    })
}

/// Whether each instruction of an operation is one, and fit.
#[cfg(jumplabel_sites)]
fn examine(entry: &Entry) -> Result<(), Error> {
    if instructions(entry).all(|arm| Native::examine(arm.bytes()).is_ok()) {
        return Ok(());
    }
    let name = entry.arms().iter().find(|arm| arm.mode() == NAME).map_or(&[] as &[u8], Arm::bytes);
    // SAFETY: as long as the object is loaded; who keeps an error for longer is told so.
    let name: &'static [u8] = unsafe { &*core::ptr::from_ref(name) };
    Err(Error::UnfitOp { op: core::str::from_utf8(name).unwrap_or("(a name that is damaged)") })
}

#[cfg(jumplabel_sites)]
// SAFETY: what the macro emits for this kind.
static OPS: OptionalKind =
    unsafe { OptionalKind::new(OP, |address| &*(address as *const RawOps), Kind::leads_somewhere::<Native>) };
