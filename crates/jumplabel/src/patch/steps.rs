//! The steps of a transaction.
//!
//! ```text
//!   for each step of the arch                    for each step that was begun, last first (`undo`)
//!     write its piece at every site                write what undoes its piece at every site that has it
//!     core sync, if anything was written           core sync; if it is refused, sites of several steps stay there
//! ```
//!
//! On x86 a flip of primed sites is one step of one byte each; elsewhere every flip is one step; see `arch`.

use super::edit::Edit;
use super::undo::{take_back, undo};
use super::writes::write;
use crate::arch::{Arch, Native};
use crate::text::{Failure, Writer};

/// Carries the edits out, by the steps that `steps` has a bit for. On a refusal all sites are as before, unless undoing is
/// refused too.
pub(super) fn run(edits: &mut [Edit], steps: u8, writer: &mut dyn Writer) -> Result<(), Failure> {
    for number in (0..Native::STEPS).filter(|number| steps & 1 << number != 0) {
        if let Err((at, errno)) = write(edits, number, false, writer) {
            take_back(edits, number, at, writer)?;
            return Err(Failure::Refused(errno));
        }
        let Err(errno) = writer.sync() else { continue };
        if steps >> number > 1 {
            // A thread may still run what it fetched before this step, so the next step must not be taken. To undo this step
            // is as harmless as the step was.
            take_back(edits, number, edits.len(), writer)?;
            return Err(Failure::Unsynced(errno));
        }
    }
    Ok(())
}

/// The same with the next writer. If the one before it was `stuck` and could not undo, this one undoes first, and then goes on as if nothing
/// had been.
#[inline(never)] // Once in a program is enough.
pub(super) fn go_on(
    edits: &mut [Edit],
    steps: u8,
    stuck: &mut Option<usize>,
    writer: &mut dyn Writer,
) -> Result<(), Failure> {
    if stuck.is_some() {
        undo(edits, writer)?;
        *stuck = None;
    }
    run(edits, steps, writer)
}
