//! Tables of operations as subjects: modes, of which the sites may hold instructions of the program's.

use super::Subject;
use crate::error::Error;
use crate::format::Entry;
use crate::ops::raw::RawOps;
use crate::text::{Held, Objects};
#[cfg(jumplabel_sites)]
use {
    super::{Own, Rarer},
    crate::arch::{Kind, Native, Op, State},
    crate::error::OpName,
    crate::format::{Arm, NAME, OP},
    crate::site::{index, object},
};

impl Subject for RawOps {
    fn address(&self) -> usize {
        self.mode().address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Option<usize>, Error> {
        #[cfg(jumplabel_sites)]
        {
            OPS.know();
            for object in object::all(held) {
                index::entries(object, self.address(), held)?.iter().try_for_each(examine)?;
            }
        }
        self.mode().begin(change, held)
    }

    fn aim(&self) -> usize {
        self.mode().aim()
    }

    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        self.mode().goal(aim, entry)
    }

    #[cfg(jumplabel_sites)]
    fn own(&self, entry: &Entry, number: usize) -> Option<Own> {
        let arm = instructions(entry).nth(number)?;
        let code = Native::moved(arm.bytes(), arm.address(), entry.code());
        Some(Own { state: State::IN_PLACE, code, goal: arm.address() })
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

/// Whether each instruction of an operation is one, and fit.
#[cfg(jumplabel_sites)]
fn examine(entry: &Entry) -> Result<(), Error> {
    instructions(entry).try_for_each(|arm| Native::examine(arm.bytes())).map_err(|fault| {
        let name = entry.arms().iter().find(|arm| arm.mode() == NAME).map_or(&[] as &[u8], Arm::bytes);
        Error::UnfitOp { op: OpName::of(name), fault }
    })
}

#[cfg(jumplabel_sites)]
// SAFETY: what the macro emits for this kind.
static OPS: Rarer = unsafe { Rarer::new(OP, |address| &*(address as *const RawOps), Kind::leads_somewhere::<Native>) };
