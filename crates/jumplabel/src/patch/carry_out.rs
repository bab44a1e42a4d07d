//! Carries out a plan: with the first writer that can write, or without writing, if its sites can load instead.

use core::time::Duration;

use super::plan::Plan;
use super::work::Work;
use super::{Outcome, in_flight, steps};
use crate::arch::Demand;
use crate::error::{Errno, Error, Refusals};
use crate::text::{Failure, Held, Warnings, Writer, WriterKind, Writers};

/// Writes the plan. If the system refuses, and every site does what is wanted by loading, leaves the sites as they are.
#[inline(never)]
pub(super) fn carry_out(plan: &mut Plan, held: &mut Held) -> Result<Outcome, Error> {
    let text = held.text();
    let Some(work) = plan.work(text)? else { return Ok(Outcome::default()) };
    // Not before: whoever finds a plan that is being sorted must not undo it.
    in_flight::writing();
    let written = write(work, held);
    if matches!(written, Err(Error::MultiThreaded { .. })) && plan.leave_out() {
        return carry_out(plan, held);
    }
    if !matches!(written, Err(Error::Denied { .. } | Error::MultiThreaded { .. } | Error::RollbackFailed { .. })) {
        return written;
    }
    let Some(loading) = plan.go_on_loading() else { return written };
    let warnings = Warnings { left_writable: text.left_writable(held) };
    Ok(Outcome { loading, warnings, ..Outcome::default() })
}

/// Writes with the first writer that can.
#[inline(never)]
fn write(work: Work<'_>, held: &mut Held) -> Result<Outcome, Error> {
    let text = held.text();
    let Work { edits, extents, mut summary, steps, several, demand } = work;
    let sites = edits.len();
    // Nobody but `swap` may write then.
    summary.unsynced = is_crowded(demand, held);
    // The first site that could not be restored, and why core sync was refused.
    let (mut stuck, mut core_sync) = (None, Errno::NONE);
    let mut refused = Refusals::default();
    'list: loop {
        let writers = text.writers(&summary, held);
        for kind in writers.iter() {
            let mut body = |writer: &mut dyn Writer| steps::go_on(edits, steps, &mut stuck, writer);
            // SAFETY: the extents of verified sites of loaded objects, in order.
            match unsafe { text.open(kind, extents, held, &mut body) } {
                Ok(written) => {
                    return Ok(Outcome {
                        sites,
                        pages: summary.pages,
                        primed: several,
                        loading: 0,
                        writer: Some(kind),
                        visibility: written.visibility,
                        warnings: written.warnings,
                        time: Duration::ZERO,
                    });
                }
                Err(Failure::Refused(errno)) => refused.note(kind, errno),
                Err(Failure::Unsynced(errno)) if summary.unsynced => refused.note(kind, errno),
                Err(Failure::Unsynced(errno)) => {
                    core_sync = errno;
                    summary.unsynced = true;
                    continue 'list;
                }
                Err(Failure::Stuck { address, errno }) => {
                    refused.note(kind, errno);
                    stuck.get_or_insert(address);
                }
            }
        }
        return Err(refusal(stuck, summary.unsynced.then_some(core_sync), refused, &writers));
    }
}

/// Whether other threads run, and must not witness the writes.
#[inline(never)] // Rare.
fn is_crowded(demand: Demand, held: &mut Held) -> bool {
    demand >= Demand::NoWitness && !held.text().is_alone(held)
}

/// What the refusals of all writers come to.
#[inline(never)] // Once in a program is enough.
pub(super) fn refusal(stuck: Option<usize>, core_sync: Option<Errno>, refused: Refusals, writers: &Writers) -> Error {
    match (stuck, core_sync) {
        (Some(address), _) => Error::RollbackFailed { address },
        (None, Some(core_sync)) => Error::MultiThreaded { core_sync, swap: refused.of(WriterKind::Swap) },
        _ if refused.iter().next().is_none() => writers.none(),
        _ => Error::Denied { refused },
    }
}
