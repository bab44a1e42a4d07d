//! The alternatives of an object as a patchable: a key whose sites hold instructions of the program.

use super::{ALTERNATIVE, Effect, Literal, OptionalKind, Patchable, examine_all, torn};
use super::{Comparison, Wanted};
use crate::arch::features::is_present;
use crate::arch::{Alternative, Code, Native, State};
use crate::error::Error;
use crate::format::{Arm, Entry};
use crate::platform::{Held, Objects};
use crate::raw::alternatives::RawAlternatives;

impl Patchable for RawAlternatives {
    fn address(&self) -> usize {
        self.0.address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Effect, Error> {
        know();
        examine_all(self, held, examine)?;
        self.0.begin(change, held)
    }

    fn setting(&self) -> usize {
        Patchable::setting(&self.0)
    }

    /// The address of the last arm whose feature the processor has. If `setting` is 0, the address of the arm that needs no feature.
    fn action(&self, setting: usize, entry: &Entry) -> usize {
        let fits = |arm: &&Arm| if setting == 0 { arm.mode() == 0 } else { is_present(arm.mode()) };
        let ours = entry.arms().iter().filter(fits).max_by_key(|arm| arm.mode() != 0);
        ours.map_or(0, Arm::address)
    }

    fn compare(&self, wanted: &Wanted<'_>, code: Code) -> Result<Comparison, usize> {
        wanted.compare_among(code, || literals(wanted.entry), torn::literal(wanted.entry, self, code))
    }

    fn literal(&self, entry: &Entry, action: usize) -> Option<Code> {
        literals(entry).find(|literal| literal.action == action).map(|literal| literal.code)
    }

    fn publish(&self, change: usize, setting: Option<usize>) {
        self.0.publish(change, setting);
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

/// The arms whose instructions the site can hold. If the site jumps to its new arms, the site can hold only the instructions of one arm: those in the
/// file.
fn here(entry: &Entry) -> impl Iterator<Item = &Arm> {
    let (_, is_far) = entry.changes();
    entry.arms().iter().filter(move |arm| !is_far || arm.mode() == 0)
}

fn code(arm: &Arm, entry: &Entry) -> Option<Code> {
    Native::placed(arm.bytes(), arm.address(), entry.code(), entry.bytes())
}

/// The literals that the site can hold: one for each arm that [`here`] returns.
fn literals(entry: &Entry) -> impl Iterator<Item = Literal> {
    here(entry)
        .filter_map(|arm| Some(Literal { state: State::IN_PLACE, code: code(arm, entry)?, action: arm.address() }))
}

/// Returns an error if the alternative `entry` has an arm whose instructions the library does not know, or that would do something else at the
/// address of the site.
fn examine(entry: &Entry) -> Result<(), Error> {
    if here(entry).all(|arm| code(arm, entry).is_some()) {
        return Ok(());
    }
    Err(Error::UnfitAlternative { address: entry.code() })
}

/// Registers the optional kind `ALTERNATIVE`, so that [`of`](super::of) finds the patchables of alternatives.
pub(super) fn know() {
    ALTERNATIVES.register();
}

// SAFETY: the macro leads the entries of this kind to a `RawAlternatives`. `in_fork` finds no state, because the process is never forked while
// alternatives change: the process has only one thread then.
static ALTERNATIVES: OptionalKind =
    unsafe { OptionalKind::new(ALTERNATIVE, |address| &*(address as *const RawAlternatives), |_, _| None) };
