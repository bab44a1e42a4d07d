//! The alternatives of an object as a subject: a key whose sites hold instructions of the program.

use super::{ALTERNATIVE, OptionalKind, Own, Subject, examine_all};
use super::{Found, Look};
use crate::alternatives::features::is_present;
use crate::alternatives::raw::RawAlternatives;
use crate::arch::{Alternative, Code, Native, State};
use crate::error::Error;
use crate::format::{Arm, Entry};
use crate::text::{Held, Objects};

impl Subject for RawAlternatives {
    fn address(&self) -> usize {
        self.0.address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Option<usize>, Error> {
        ALTERNATIVES.register();
        examine_all(self, held, examine)?;
        self.0.begin(change, held)
    }

    fn aim(&self) -> usize {
        Subject::aim(&self.0)
    }

    /// Of the features that there are, the last one's.
    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        let fits = |arm: &&Arm| if aim == 0 { arm.mode() == 0 } else { is_present(arm.mode()) };
        let ours = entry.arms().iter().filter(fits).max_by_key(|arm| arm.mode() != 0);
        ours.map_or(0, Arm::address)
    }

    fn found(&self, look: &Look<'_>, code: Code) -> Option<Result<Found, usize>> {
        Some(look.among(code, || own(look.entry)))
    }

    fn own(&self, entry: &Entry, goal: usize) -> Option<Code> {
        own(entry).find(|own| own.goal == goal).map(|own| own.code)
    }

    fn publish(&self, change: usize, aim: Option<usize>) {
        self.0.publish(change, aim);
    }

    fn is_eventual(&self) -> bool {
        self.0.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.0.set_eventual(eventual);
    }

    fn abandon(&self) {
        self.0.abandon();
    }
}

/// The arms whose instructions the site may hold.
fn here(entry: &Entry) -> impl Iterator<Item = &Arm> {
    let (_, is_far) = entry.changes();
    entry.arms().iter().filter(move |arm| !is_far || arm.mode() == 0)
}

fn code(arm: &Arm, entry: &Entry) -> Option<Code> {
    Native::placed(arm.bytes(), arm.address(), entry.code(), entry.bytes())
}

/// What the site may hold of them.
fn own(entry: &Entry) -> impl Iterator<Item = Own> {
    here(entry).filter_map(|arm| Some(Own { state: State::IN_PLACE, code: code(arm, entry)?, goal: arm.address() }))
}

/// Whether all of them mean the same at the site.
fn examine(entry: &Entry) -> Result<(), Error> {
    if here(entry).all(|arm| code(arm, entry).is_some()) {
        return Ok(());
    }
    Err(Error::UnfitAlternative { address: entry.code() })
}

// SAFETY: what the macro emits for this kind. Nobody copies the process while they change: it has one thread.
static ALTERNATIVES: OptionalKind =
    unsafe { OptionalKind::new(ALTERNATIVE, |address| &*(address as *const RawAlternatives), |_, _| None) };
