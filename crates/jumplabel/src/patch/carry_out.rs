//! Carries out a plan with the first writer that can write. If no writer can, and all sites of the plan can load their keys instead,
//! nothing is written.

use core::time::Duration;

use super::plan::Plan;
use super::schedule::Schedule;
use super::site_change::SiteChange;
use super::undo::undo;
use super::{Outcome, hand_over, in_flight, steps};
use crate::arch::Demand;
use crate::error::{Error, Refusal, Refusals};
use crate::platform::{Extent, Failure, Held, Warnings, WriteReport, Writer, WriterKind, WriterList};

/// Writes the plan. If the system refuses, but each site would also do what is wanted by loading its key, leaves the sites as they are.
#[inline(never)]
pub(super) fn carry_out(plan: &mut Plan, held: &mut Held) -> Result<Outcome, Error> {
    let platform = held.platform();
    let written = loop {
        let Some(schedule) = plan.schedule(platform)? else { return Ok(unwritten(0, held)) };
        // The phase changes only here, after the plan was sorted: whoever finds a half-sorted plan must not undo it.
        in_flight::writing();
        match write(schedule, held) {
            Err(error @ Error::MultiThreaded { .. }) if plan.leave_out(error) => {}
            written => break written,
        }
    };
    let is_right = match written {
        Err(Error::Denied { .. } | Error::MultiThreaded { .. }) => plan.findings.can_load_instead,
        // Some sites were written. That is right if none is between two steps.
        Err(Error::RollbackFailed { .. }) => plan.findings.can_load_instead && plan.changes.iter().all(is_one_step),
        _ => false,
    };
    if !is_right {
        return written;
    }
    plan.findings.loads = true; // They go on loading.
    Ok(unwritten(plan.changes.len(), held))
}

/// Whether a change takes a single step, so that the site holds its old or its new bytes at any moment.
#[cold]
fn is_one_step(change: &SiteChange) -> bool {
    hand_over::steps_of(change.code).is_power_of_two()
}

/// The outcome of a plan of which nothing was written. Also closes the pages that an earlier writer left open, if the system allows that
/// now.
fn unwritten(loading: usize, held: &mut Held) -> Outcome {
    let warnings = Warnings { left_writable: held.platform().left_writable(held) };
    Outcome { loading, warnings, ..Outcome::default() }
}

/// Writes with the first writer that can.
#[inline(never)]
fn write(schedule: Schedule<'_>, held: &mut Held) -> Result<Outcome, Error> {
    let platform = held.platform();
    let Schedule { changes, extents, mut summary, steps, several, demand } = schedule;
    let sites = changes.len();
    // If no other thread must execute the sites while they change, but other threads run, only `remap` is allowed to write.
    summary.unsynced = is_crowded(demand, held);
    // `stuck` is the first site that an earlier writer could not restore. `core_sync` says why core sync was refused.
    let (mut stuck, mut core_sync) = (None, Refusal::NOT_TRIED);
    let mut refused = Refusals::default();
    'list: loop {
        let writers = platform.writers(&summary, held);
        for kind in writers.iter() {
            // SAFETY: `extents` are those of verified sites of loaded objects, in order.
            match unsafe { attempt(kind, changes, extents, steps, &mut stuck, held) } {
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
                Err(Failure::Refused(refusal)) => refused.note(kind, refusal),
                Err(Failure::Unsynced(refusal)) if summary.unsynced => refused.note(kind, refusal),
                Err(Failure::Unsynced(refusal)) => {
                    core_sync = refusal;
                    summary.unsynced = true;
                    continue 'list;
                }
                Err(Failure::Stuck { refusal, .. }) => refused.note(kind, refusal),
            }
        }
        return Err(refusal(stuck, summary.unsynced.then_some(core_sync), refused, &writers));
    }
}

/// Writes with one writer. If an earlier writer could not undo what it had written (`stuck`), this writer first undoes that. When the sites
/// are really as before, this writer writes as if there had been no earlier one.
///
/// # Safety
/// As for [`undo`].
#[inline(never)]
unsafe fn attempt(
    kind: WriterKind,
    changes: &mut [SiteChange],
    extents: &[Extent],
    steps: u8,
    stuck: &mut Option<usize>,
    held: &mut Held,
) -> Result<WriteReport, Failure> {
    if stuck.is_some() {
        // SAFETY: the caller passes changes of verified sites of loaded objects, and their extents, in order.
        unsafe { undo(kind, changes, extents, held) }?;
        *stuck = None;
        look_again(changes, steps);
    }
    let mut body = |writer: &mut dyn Writer| steps::run(changes, steps, writer);
    // SAFETY: the same extents.
    let written = unsafe { held.platform().open(kind, extents, held, &mut body) };
    match written {
        Ok(_) => {}
        Err(Failure::Stuck { address, .. }) => *stuck = Some(address),
        Err(_) => look_again(changes, steps),
    }
    written
}

/// Reads the sites again, and lets their changes begin with what they hold now. The next writer has to know that: if core sync was refused
/// on the way back, sites that take several steps can be between two steps.
#[inline(never)] // Rare.
fn look_again(changes: &mut [SiteChange], steps: u8) {
    if steps.count_ones() > 1 {
        changes.iter_mut().for_each(SiteChange::look_again);
    }
}

/// Whether other threads run, and `demand` says that no other thread must execute the sites while they change.
#[inline(never)] // Rare.
fn is_crowded(demand: Demand, held: &mut Held) -> bool {
    demand >= Demand::Unexecuted && !held.platform().is_alone(held)
}

/// The error that the refusals of all writers amount to.
#[inline(never)]
pub(super) fn refusal(
    stuck: Option<usize>,
    core_sync: Option<Refusal>,
    refused: Refusals,
    writers: &WriterList,
) -> Error {
    match (stuck, core_sync) {
        (Some(address), _) => Error::RollbackFailed { address },
        (None, Some(core_sync)) => Error::MultiThreaded { core_sync, remap: refused.of(WriterKind::Remap) },
        _ if refused.iter().next().is_none() => writers.none(),
        _ => Error::Denied { refused },
    }
}
