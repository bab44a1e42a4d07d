//! Does in advance some of the work of a program's first flip.

use super::carry_out::refusal;
use super::in_flight::{TRANSACTION, Transaction};
use super::purpose::Purpose;
use super::schedule::Met;
use super::transaction::{demand, transaction};
use super::{Lock, Outcome, Request, in_flight, locked};
use crate::error::Error;
use crate::platform::{Held, Summary, WriterKind};
use crate::site::{index, object};

/// Does in advance the work that the first flip of a process does besides flipping: makes the state that the instances of the library in the process
/// share, registers for core sync (this takes milliseconds if there are several threads), builds the index of each loaded object, makes room for the
/// list of changes, and tries the writers for few sites and for many sites. Flips work without `prepare`, which is for programs whose first flip must
/// be fast.
///
/// `prepare` also patches some sites of keys declared `or_load`: the sites that still load and should fall through. From then on, these sites cost as
/// much as other sites. [`prepare_keys`](crate::prepare_keys) does this for some keys, and [`loading`](crate::loading) counts the sites that load.
///
/// After `prepare`, the first flip has only one thing more to do than later flips: it makes a private copy of each page that it changes. Call this
/// function again in a forked child, because the child inherits everything except the registration. Call it again after another object was loaded,
/// because that object has no index yet. If there is nothing to do, the call costs little.
///
/// # Errors
/// [`Error::Denied`] if the system refuses all writers, so that flips would fail; [`Error::NoWriter`], [`Error::UnknownWriter`],
/// [`Error::CopiedCode`], [`Error::OutOfMemory`]. If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal). If core sync
/// is refused, this function returns no error: each flip then reports what the refusal means for that flip.
pub fn prepare() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    if get_ready(&mut lock)? {
        // In the fallback, no flip writes anything.
        #[cfg(jumplabel_sites)]
        return transaction(&[], &mut lock, &|_, plan, held| {
            object::all(held).try_for_each(|object| plan.collect_object(object, Purpose::Prepare, held))
        });
    }
    Ok(Outcome::default())
}

/// Like [`prepare`], but patches only sites of the keys in `requests`.
pub(crate) fn prepare_these(requests: &[Request<'_>]) -> Result<Outcome, Error> {
    let mut lock = locked(requests)?;
    if !get_ready(&mut lock)? {
        return Ok(Outcome::default());
    }
    demand(requests, &lock.objects)?;
    transaction(&[], &mut lock, &|_, plan, held| {
        requests.iter().try_for_each(|request| plan.collect_same(request.patchable, Purpose::Prepare, held))
    })
}

/// Does the part of the first flip's work that does not depend on the flipped key. Returns false if no object has a site, so that no flip writes
/// anything.
fn get_ready(lock: &mut Lock) -> Result<bool, Error> {
    let platform = lock.platform();
    let Transaction { plan, in_flight } = TRANSACTION.get(&mut lock.patch);
    if let Some(address) = in_flight::stuck_at(plan) {
        return Err(Error::RollbackFailed { address });
    }
    let mut sites = 0;
    for object in object::all(&lock.objects) {
        index::build(object, &lock.objects)?;
        sites += object.table().len();
    }
    if sites == 0 {
        return Ok(false);
    }
    plan.prepare(sites, platform)?;
    in_flight.prepare(platform)?;
    prepare_writer(1, &mut lock.platform_state)?;
    prepare_writer(usize::MAX, &mut lock.platform_state)?;
    Ok(true)
}

/// Tries the writers that a flip of one site would try, and returns the first one that works. The try changes only a function of the library, and no
/// site of the program. `probe` is for programs that want to know in advance whether the system allows flips.
///
/// Costs as much as two flips the first time, and next to nothing later, because a writer that worked is not tried again. So if the program
/// later loses the right to write code, its next flip reports that, but this function does not.
///
/// # Errors
/// [`Error::Denied`] if the system refuses all writers, so that flips would fail; [`Error::NoWriter`] if there is no writer, as in the fallback;
/// [`Error::UnknownWriter`]. If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal).
pub fn probe() -> Result<WriterKind, Error> {
    if cfg!(not(jumplabel_sites)) {
        return Err(Error::NoWriter);
    }
    prepare_writer(1, &mut Lock::take()?.platform_state)
}

/// Tries the writers that a flip of this many sites would try, and returns the first one that works.
fn prepare_writer(sites: usize, held: &mut Held) -> Result<WriterKind, Error> {
    let summary = Summary { sites, pages: 1, spans: 1, steps: 1, single_store: false, unsynced: false };
    let mut met = Met { writers: held.platform().writers(&summary, held), ..Met::NOTHING };
    for kind in met.writers.iter() {
        match held.platform().prepare(kind, held) {
            Ok(()) => return Ok(kind),
            Err(refusal) => met.refused.note(kind, refusal),
        }
    }
    Err(refusal(&met, false))
}
