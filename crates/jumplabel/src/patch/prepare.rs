//! The part of the first flip's work that a program can do in advance.

use super::carry_out::refusal;
use super::in_flight::{TRANSACTION, Transaction};
use super::purpose::Purpose;
use super::transaction::{demand, transaction};
use super::{Lock, Outcome, Request, in_flight, locked};
use crate::error::{Error, Refusals};
use crate::platform::{Held, Summary, WriterKind};
use crate::site::{index, object};

/// Does in advance what the first flip of a process does beside flipping. It makes the state of the process, registers for core sync (which
/// takes milliseconds if there are several threads), builds the index of each loaded object, makes room for the list of changes, and tries
/// the writers that are chosen for few sites and for many. Flips work without this function: it is for programs whose first flip must be
/// fast.
///
/// It also patches those sites of keys declared `or_load` that still load and should fall through. From then on they cost as much as other
/// sites. [`prepare_keys`](crate::prepare_keys) does so for some keys, and [`loading`](crate::loading) counts the sites that load.
///
/// After that, the first flip only makes a private copy of each page that it changes. Call this function again in a child of `fork`,
/// because the child inherits everything but the registration. Call it again after another object is loaded, because that object has no
/// index yet. If there is nothing to do, it costs little.
///
/// # Errors
/// [`Error::Denied`] if the system refuses all writers, so that flips would fail; [`Error::NoWriter`], [`Error::UnknownWriter`],
/// [`Error::CopiedCode`], [`Error::OutOfMemory`]; and if the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal).
/// If core sync is refused, this function returns no error: each flip then reports what the refusal means for that flip.
pub fn prepare() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    if get_ready(&mut lock)? {
        // In the fallback there is nothing that a flip could write.
        #[cfg(jumplabel_sites)]
        return transaction(&[], &mut lock, &|_, plan, held| {
            object::all(held).try_for_each(|object| plan.collect_object(object, Purpose::Prepare, held))
        });
    }
    Ok(Outcome::default())
}

/// [`prepare`] for the keys of these requests.
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

/// Does the part of the first flip's work that does not depend on what is flipped. Returns whether there is anything that a flip could
/// write.
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

/// Tries the writer that a flip of one site would take, and returns the writer if it works. The writer is tried on a function of the
/// library, so no site changes. This is for programs that want to know in advance whether the system lets them flip.
///
/// Costs as much as two flips the first time, and next to nothing later, because a writer that worked is not tried again. So if the program
/// later gives up the right to write code, its next flip reports that, but this function does not.
///
/// # Errors
/// [`Error::Denied`] if the system refuses all writers, so that flips would fail; [`Error::NoWriter`] if there is no writer, as in the
/// fallback; [`Error::UnknownWriter`]; and if the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal).
pub fn probe() -> Result<WriterKind, Error> {
    if cfg!(not(jumplabel_sites)) {
        return Err(Error::NoWriter);
    }
    prepare_writer(1, &mut Lock::take()?.platform_state)
}

/// Tries the writers that a flip of this many sites would try, and returns the first one that works.
fn prepare_writer(sites: usize, held: &mut Held) -> Result<WriterKind, Error> {
    let summary = Summary { sites, pages: 1, spans: 1, steps: 1, single_store: false, unsynced: false };
    let mut refused = Refusals::default();
    let writers = held.platform().writers(&summary, held);
    for kind in writers.iter() {
        match held.platform().prepare(kind, held) {
            Ok(()) => return Ok(kind),
            Err(refusal) => refused.note(kind, refusal),
        }
    }
    Err(refusal(None, None, refused, &writers))
}
