//! Carries out a plan with the first writer that succeeds. If no writer succeeds, but all sites of the plan can load their keys instead, the sites
//! stay as they are.

use super::plan::Plan;
use super::requests::PendingRequest;
use super::schedule::{Fate, Met};
use super::site_change::SiteChange;
use super::undo::undo;
use super::{hand_over, in_flight, steps};
use crate::arch::{Arch, Demand, Native};
use crate::error::Error;
use crate::platform::{Failure, Held, Warnings, WriteReport, Writer, WriterKind};

/// Shows the requests' settings to threads that are at a site in the middle of its change, and schedules the plan. After this, only a writer can
/// still refuse.
#[inline(never)]
pub(super) fn schedule(plan: &mut Plan, requests: &[PendingRequest<'_>], held: &mut Held) -> Result<(), Error> {
    requests.iter().for_each(PendingRequest::expose);
    if !plan.schedule(held.platform())? {
        leave(0, plan, held);
    }
    Ok(())
}

/// Writes a scheduled plan. If the system refuses, but each site also does the wanted action by loading its key, leaves the sites as they are, and
/// returns `Ok`.
#[inline(never)]
pub(super) fn carry_out(plan: &mut Plan, held: &mut Held) -> Result<(), Error> {
    // The phase changes only here, after the plan was sorted, because a half-sorted plan must never be undone.
    in_flight::writing();
    if write(plan, held) { Ok(()) } else { again(plan, held) }
}

/// Called after all writers have refused. If the plan may leave out some sites, tries again without these. If all sites load their keys instead,
/// returns `Ok`. Otherwise returns the error.
#[cold]
#[inline(never)]
fn again(plan: &mut Plan, held: &mut Held) -> Result<(), Error> {
    let error = refusal(&plan.met, plan.facts.summary.unsynced);
    let demand = match error {
        Error::MultiThreaded { .. } => Some(Demand::Unexecuted),
        Error::Denied { .. } | Error::NoWriter => Some(Demand::SingleStore),
        _ => None,
    };
    if demand.is_some_and(|demand| plan.leave_out(demand, error)) {
        in_flight::collecting(); // The plan is sorted next, and must not be undone meanwhile.
        return match plan.schedule(held.platform())? {
            true => carry_out(plan, held),
            false => {
                leave(0, plan, held);
                Ok(())
            }
        };
    }
    if !loads_instead(error, plan) {
        return Err(error);
    }
    plan.findings.loads = true; // The sites continue to load.
    leave(plan.changes.len(), plan, held);
    Ok(())
}

/// Whether a plan that was refused with `error` still counts as a success, because all its sites load their keys instead.
#[cold]
fn loads_instead(error: Error, plan: &Plan) -> bool {
    match error {
        Error::Denied { .. } | Error::MultiThreaded { .. } => plan.findings.can_load_instead,
        // Some sites were written, and some were not. All of them do the wanted action if no site is between two steps.
        Error::RollbackFailed { .. } => plan.findings.can_load_instead && plan.changes.iter().all(is_one_step),
        _ => false,
    }
}

/// Whether a change takes a single step, so that the site holds its old or its new bytes at any moment.
#[cold]
fn is_one_step(change: &SiteChange) -> bool {
    hand_over::steps_of(change.code).is_power_of_two()
}

/// Records that nothing was written, and how many sites continue to load. Also tries to close the pages that an earlier writer could not close.
#[inline(never)]
fn leave(loading: usize, plan: &mut Plan, held: &mut Held) {
    let warnings = Warnings { left_writable: held.platform().left_writable(held) };
    plan.facts.fate = Fate::Unwritten { loading, warnings };
}

/// Writes a scheduled plan with the first writer that succeeds. Returns false if all writers have refused; `plan.met` has their reasons.
fn write(plan: &mut Plan, held: &mut Held) -> bool {
    // If other threads run, and must not execute the sites while the sites change, only `remap` may write.
    plan.facts.summary.unsynced = is_crowded(plan.facts.demand, held);
    plan.met = Met::NOTHING;
    'list: loop {
        plan.met.writers = held.platform().writers(&plan.facts.summary, held);
        for place in 0.. {
            let Some(kind) = plan.met.writers.nth(place) else { return false };
            // SAFETY: the changes of the plan are of verified sites of loaded objects, and are scheduled.
            match unsafe { attempt(kind, plan, held) } {
                Ok(report) => {
                    plan.facts.fate = Fate::Written { writer: kind, report };
                    return true;
                }
                Err(Failure::Unsynced(refusal)) if !plan.facts.summary.unsynced => {
                    plan.met.core_sync = refusal;
                    plan.facts.summary.unsynced = true;
                    continue 'list;
                }
                Err(Failure::Refused(refusal) | Failure::Unsynced(refusal) | Failure::Stuck { refusal, .. }) => {
                    plan.met.refused.note(kind, refusal);
                }
            }
        }
    }
}

/// Writes with one writer. If an earlier writer could not undo its own writes (`Met::stuck`), this writer first undoes them. Once the sites are as
/// before, this writer writes as if there had been no earlier one.
///
/// # Safety
/// The contract of [`undo`].
unsafe fn attempt(kind: WriterKind, plan: &mut Plan, held: &mut Held) -> Result<WriteReport, Failure> {
    if plan.met.stuck.is_some() {
        // SAFETY: the caller passes a plan whose changes are of verified sites of loaded objects, and are scheduled.
        unsafe { undo(kind, plan, held) }?;
        plan.met.stuck = None;
        look_again(plan);
    }
    let Plan { changes, extents, facts, block, .. } = plan;
    let mut body = |writer: &mut dyn Writer| steps::run(changes, &facts.alike, facts.steps, writer, block);
    // SAFETY: the extents are those of the plan's changes, which are of verified sites.
    let written = unsafe { held.platform().open(kind, extents, held, &mut body) };
    match written {
        Ok(_) => {}
        Err(Failure::Stuck { address, .. }) => plan.met.stuck = Some(address),
        Err(_) => look_again(plan),
    }
    written
}

/// Reads the sites again, and makes their changes start from the bytes that the sites hold now. The next writer needs that: if core sync was
/// refused on the way back, a site that takes several steps can be between two steps. Such a site does what it did before, but does not load its
/// key.
#[inline(never)] // Rarely called.
fn look_again(plan: &mut Plan) {
    if Native::STEPS > 1 && plan.facts.steps.count_ones() > 1 {
        plan.facts.alike = 0..0;
        for change in plan.changes.as_mut_slice() {
            plan.findings.can_load_instead &= change.look_again();
        }
    }
}

/// Whether other threads run, and `demand` forbids them to execute the sites during the change.
#[inline(never)] // Rarely called.
fn is_crowded(demand: Demand, held: &mut Held) -> bool {
    demand >= Demand::Unexecuted && !held.platform().is_alone(held)
}

/// The error of a transaction that all writers have refused. `unsynced` says whether only writers that never write to running code were allowed
/// ([`Summary::unsynced`](crate::platform::Summary)).
#[cold]
#[inline(never)]
pub(super) fn refusal(&Met { stuck, core_sync, refused, writers }: &Met, unsynced: bool) -> Error {
    match stuck {
        Some(address) => Error::RollbackFailed { address },
        None if unsynced => Error::MultiThreaded { core_sync, remap: refused.of(WriterKind::Remap) },
        _ if refused.iter().next().is_none() => writers.none(),
        _ => Error::Denied { refused },
    }
}
