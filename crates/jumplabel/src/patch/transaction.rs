//! A transaction goes from requests to published counts. If it fails, it goes back to the state before.

use super::carry_out::carry_out;
use super::in_flight::{self, TRANSACTION, Transaction};
use super::plan::{self, Manner, Plan};
use super::{Lock, Outcome, Request, locked};
use crate::error::Error;
use crate::platform::{Held, Objects, Visibility};
use crate::site::readable;

/// Carries out `requests`, all or nothing. Reorders them.
#[inline(never)]
pub(crate) fn commit(requests: &mut [Request<'_>]) -> Result<Outcome, Error> {
    commit_locked(requests, &mut locked(requests)?)
}

/// [`commit`] for a caller that holds the lock.
pub(crate) fn commit_locked(requests: &mut [Request<'_>], lock: &mut Lock) -> Result<Outcome, Error> {
    let requests = plan::last_wins(requests);
    let mut manner = Manner::Whole;
    loop {
        let outcome = transaction(requests, lock, &|requests, plan, held| begin_all(requests, plan, manner, held));
        let refused = matches!(outcome, Err(Error::Denied { .. } | Error::NoWriter));
        if !(refused && manner == Manner::Whole && TRANSACTION.get(&mut lock.patch).plan.findings.shortcuts) {
            return outcome;
        }
        manner = Manner::WithoutShortcuts;
    }
}

/// Does the work of the closure in [`commit_locked`]. That closure is called through a pointer, so the compiler can put several copies of
/// it into the program, each with all that is inlined into it. So the work is in a function that is not inlined.
#[inline(never)]
fn begin_all(requests: &mut [Request<'_>], plan: &mut Plan, manner: Manner, held: &Held<Objects>) -> Result<(), Error> {
    requests.iter_mut().try_for_each(|request| request.begin(held))?;
    plan.collect(requests, manner, held)
}

/// Fills the plan. [`transaction`] calls it through a pointer, so that the program has one `transaction` and not one for each caller.
type Collect<'a> = dyn Fn(&mut [Request<'_>], &mut Plan, &Held<Objects>) -> Result<(), Error> + 'a;

/// Collects the changes and writes them. Then publishes the requests or, on an error, abandons them.
#[inline(never)]
pub(super) fn transaction(
    requests: &mut [Request<'_>],
    lock: &mut Lock,
    collect: &Collect<'_>,
) -> Result<Outcome, Error> {
    let platform = lock.platform();
    let start = platform.now();
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    let (objects, held) = (&lock.objects, &mut lock.platform_state);
    if let Some(address) = in_flight::stuck_at(plan) {
        return Err(Error::RollbackFailed { address });
    }
    plan.clear();
    readable::forget();
    in_flight.begin(requests, platform)?;
    let mut outcome = collect(requests, plan, objects).and_then(|()| {
        requests.iter().for_each(Request::expose);
        carry_out(plan, held)
    });
    match &mut outcome {
        Ok(outcome) => {
            in_flight.publishing(requests, platform);
            // Sites that load their key see the count as soon as it is published. So a core sync follows, as after a step. Until that core
            // sync has succeeded, the key is marked as eventual, so that an `inc` that does not take the lock waits for that core sync,
            // too.
            let loads = plan.findings.loads;
            if loads {
                outcome.visibility = Visibility::Eventual;
            } else if outcome.writer.is_none() {
                outcome.visibility = sync_again(requests, held);
            }
            requests.iter().for_each(|request| request.publish(Some(outcome.visibility)));
            if loads {
                outcome.visibility = sync_again(requests, held);
            }
            outcome.time = platform.now().saturating_sub(start);
        }
        Err(error) => {
            // If sites were undone without a core sync, other threads can still execute for a while what these sites held in between.
            if matches!(error, Error::Denied { .. } | Error::RollbackFailed { .. }) && !platform.is_synced() {
                requests.iter().for_each(|request| request.patchable.set_eventual(true));
            }
            // If a request was refused, those after it were not begun. For these, `abandon` does nothing.
            requests.iter().for_each(|request| request.patchable.abandon());
        }
    }
    if let Err(Error::RollbackFailed { .. }) = outcome {
        in_flight.stuck();
        return outcome;
    }
    in_flight::done();
    plan.shrink(platform);
    outcome
}

/// Under the lock: makes all threads see what the sites of these patchables hold now. If a core sync is still missing for that, does it.
/// Returns [`Visibility::Eventual`] if the core sync is refused.
#[inline(never)]
pub(crate) fn sync_again(requests: &[Request<'_>], held: &mut Held) -> Visibility {
    if !requests.iter().any(|request| request.patchable.is_eventual()) {
        return Visibility::Immediate;
    }
    if held.platform().core_sync(held).is_err() {
        return Visibility::Eventual;
    }
    requests.iter().for_each(|request| request.patchable.set_eventual(false));
    Visibility::Immediate
}
