//! Carries out a transaction. If the transaction succeeds, its requests are published. If it fails, keys and sites are as before, unless the error is
//! `RollbackFailed`.

use core::time::Duration;

use super::carry_out::{carry_out, schedule};
use super::in_flight::{self, TRANSACTION, Transaction};
use super::lock::NOTICES;
use super::plan::{Manner, Plan};
use super::requests::{PendingRequest, add_notices};
use super::{Lock, Outcome, Patchable, Request, locked};
use crate::arch::{Arch, Native};
use crate::error::Error;
use crate::platform::notices::{By, PROGRAM};
use crate::platform::{Held, Objects, Platform, Visibility};
use crate::site::{index, object, readable};

/// Carries out `requests`, all or nothing.
#[inline(never)]
pub(crate) fn commit(requests: &[Request<'_>]) -> Result<Outcome, Error> {
    commit_by(requests, PROGRAM)
}

/// Like [`commit`]. The notices of the change say that `by` asked for the change.
#[inline(never)]
pub(crate) fn commit_by(requests: &[Request<'_>], by: By) -> Result<Outcome, Error> {
    // The lock is used inside the result, because a move out of the result would copy the lock.
    match &mut locked(requests) {
        Ok(lock) => {
            NOTICES.get(&mut lock.objects).by = by;
            attempts(requests, lock)
        }
        Err(error) => Err(*error),
    }
}

/// Like [`commit`], for a caller that holds the lock.
#[inline(never)]
pub(crate) fn commit_locked(requests: &[Request<'_>], lock: &mut Lock) -> Result<Outcome, Error> {
    attempts(requests, lock)
}

/// Carries out `requests`. If the system refuses, tries once more without those calls, listed by `jumplabel link`, that lead to their trampoline:
/// these calls reach the new target through the trampoline, and need not change.
#[inline(always)]
fn attempts(requests: &[Request<'_>], lock: &mut Lock) -> Result<Outcome, Error> {
    let outcome = transaction(requests, lock, &collect_whole);
    if Native::TAIL.is_none() {
        return outcome; // No call could stay: only instruction sets with a tail have tables of calls.
    }
    let refused = matches!(outcome, Err(Error::Denied { .. } | Error::NoWriter));
    if refused && TRANSACTION.get(&mut lock.patch).plan.findings.shortcuts {
        return without_shortcuts(requests, lock);
    }
    outcome
}

/// The second attempt of [`attempts`]. Calls that already reach the right target by a longer way stay as they are.
#[cold]
#[inline(never)]
fn without_shortcuts(requests: &[Request<'_>], lock: &mut Lock) -> Result<Outcome, Error> {
    transaction(requests, lock, &|requests, plan, held| plan.collect(requests, Manner::WithoutShortcuts, held))
}

/// Collects the changes of sites for the first attempt of [`attempts`].
fn collect_whole(requests: &[PendingRequest<'_>], plan: &mut Plan, held: &Held<Objects>) -> Result<(), Error> {
    plan.collect(requests, Manner::Whole, held)
}

/// A function that fills the plan. [`transaction`] calls the function through a pointer, so that a program contains one `transaction`, and not one
/// for each caller.
type Collect<'a> = dyn Fn(&[PendingRequest<'_>], &mut Plan, &Held<Objects>) -> Result<(), Error> + 'a;

/// Begins `requests`, collects the changes of sites that `collect` finds, and writes them. Then publishes the requests or, on an error, abandons
/// them. Each of these parts is a function that returns before the next one is called, because each needs much of the stack.
#[inline(never)]
pub(super) fn transaction(requests: &[Request<'_>], lock: &mut Lock, collect: &Collect<'_>) -> Result<Outcome, Error> {
    // All results are in one variable, because each variable takes room on the stack.
    let mut done = demand(requests, &lock.objects);
    if done.is_ok() {
        done = begin(requests, lock);
    }
    #[allow(clippy::question_mark)] // The operator `?` would make a copy.
    if let Err(error) = done {
        return Err(error);
    }
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    done = begin_changes(in_flight.requests(), &lock.objects);
    if done.is_ok() {
        done = collect(in_flight.requests(), plan, &lock.objects);
    }
    if done.is_ok() {
        done = schedule(plan, in_flight.requests(), &mut lock.platform_state);
    }
    if done.is_ok() && !plan.changes.is_empty() {
        done = carry_out(plan, &mut lock.platform_state);
    }
    end(done, lock)
}

/// Empties the plan, lists the requests, and makes room for their notices. Returns an error if an earlier transaction is still not undone.
#[inline(never)]
fn begin(requests: &[Request<'_>], lock: &mut Lock) -> Result<(), Error> {
    let platform = lock.platform();
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    if let Some(address) = in_flight::stuck_at(plan) {
        return Err(Error::RollbackFailed { address });
    }
    plan.clear(platform.now());
    readable::forget();
    in_flight.list(requests, platform)?;
    NOTICES.get(&mut lock.objects).make_room(requests.len(), platform)?;
    in_flight::collecting();
    Ok(())
}

/// Builds the indexes that are missing. Returns an error if the library cannot rely on an entry that belongs, or may belong, to one of the
/// patchables. (This runs first, because building an index needs much of the stack, and the stack is fuller when the entries are needed.)
#[inline(never)]
pub(super) fn demand(requests: &[Request<'_>], held: &Held<Objects>) -> Result<(), Error> {
    for object in object::all(held) {
        for request in requests {
            index::demand(object, request.patchable.address(), held)?;
        }
    }
    Ok(())
}

/// Calls [`PendingRequest::begin`] for each request, up to the first error.
#[inline(never)]
fn begin_changes(requests: &mut [PendingRequest<'_>], held: &Held<Objects>) -> Result<(), Error> {
    requests.iter_mut().try_for_each(|request| request.begin(held))
}

/// Publishes the requests, and returns the outcome; or, on an error, abandons the requests.
#[inline(never)]
fn end(done: Result<(), Error>, lock: &mut Lock) -> Result<Outcome, Error> {
    let platform = lock.platform();
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    let (requests, held) = (in_flight.requests(), &mut lock.platform_state);
    if let Err(error) = done {
        // If sites were restored without a core sync, other threads can for a while still execute the bytes that these sites held in mid-flip. So the
        // patchables are marked as eventual.
        if matches!(error, Error::Denied { .. } | Error::RollbackFailed { .. }) && !platform.is_synced() {
            requests.iter().for_each(|request| request.patchable.set_eventual(true));
        }
        // If a request was refused, the requests after it have not begun. For these, `abandon` does nothing.
        requests.iter_mut().for_each(PendingRequest::abandon);
        match error {
            Error::RollbackFailed { .. } => in_flight.stuck(),
            _ => over(plan, platform),
        }
        return Err(error);
    }
    in_flight::publishing();
    let mut outcome = plan.facts.outcome();
    // A site that loads its key takes the new arm as soon as the count is published. So a core sync follows, as after a step. Until the core sync has
    // succeeded, the key is marked as eventual, so that an `inc` without the lock waits for the core sync, too.
    let loads = plan.findings.loads;
    if loads {
        outcome.visibility = Visibility::Eventual;
    } else if outcome.writer.is_none() {
        outcome.visibility = sync_all(requests, held);
    }
    requests.iter_mut().for_each(|request| request.publish(Some(outcome.visibility)));
    let notices = NOTICES.get(&mut lock.objects);
    if notices.are_wanted() {
        add_notices(requests, notices);
    }
    if loads {
        outcome.visibility = sync_all(requests, held);
    }
    outcome.time = since(plan.start, platform.now());
    over(plan, platform);
    Ok(outcome)
}

/// The time from `start` to `now`; 0 if the clock went back. (`Duration::saturating_sub` brings code that panics: the compiler does not see that it
/// never runs.)
fn since(start: Duration, now: Duration) -> Duration {
    let borrows = now.subsec_nanos() < start.subsec_nanos();
    let more = if borrows { 1_000_000_000 } else { 0 };
    let nanos = now.subsec_nanos().wrapping_sub(start.subsec_nanos()).wrapping_add(more);
    let seconds = now.as_secs().checked_sub(start.as_secs()).and_then(|seconds| seconds.checked_sub(borrows.into()));
    seconds.map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanos.min(999_999_999)))
}

/// Records that the transaction is over, and frees the plan's memory if it is large.
#[inline(never)]
fn over(plan: &mut Plan, platform: &dyn Platform) {
    in_flight::done();
    plan.shrink(platform);
}

/// Makes all threads see the bytes that the sites of this patchable hold now. For that, does a core sync if the last change of the sites had none.
/// Returns [`Visibility::Eventual`] if the core sync is refused. Called under the lock.
pub(crate) fn sync_again(patchable: &dyn Patchable, held: &mut Held) -> Visibility {
    sync_all(&[PendingRequest::new(Request::new(patchable, 0), 0)], held)
}

/// Does [`sync_again`] for the patchables of several requests.
#[inline(never)]
fn sync_all(requests: &[PendingRequest<'_>], held: &mut Held) -> Visibility {
    if !requests.iter().any(|request| request.patchable.is_eventual()) {
        return Visibility::Immediate;
    }
    if held.platform().core_sync(held).is_err() {
        return Visibility::Eventual;
    }
    requests.iter().for_each(|request| request.patchable.set_eventual(false));
    Visibility::Immediate
}

#[cfg(test)]
mod tests {
    use super::{Duration, since};

    #[test]
    fn since_is_a_difference_that_saturates() {
        let nanos = [0, 1, 400_000_000, 999_999_999];
        let times = [0, 1, 7, u64::MAX].iter().flat_map(|&seconds| nanos.map(|nanos| Duration::new(seconds, nanos)));
        for start in times.clone() {
            for now in times.clone() {
                assert_eq!(since(start, now), now.saturating_sub(start), "{start:?} to {now:?}");
            }
        }
    }
}
