//! `verify`, and other transactions in which no key, call or mode changes. These transactions set sites to the states that their patchables ask for,
//! or to the states that the compiler emits.

#[cfg(jumplabel_sites)]
use super::in_flight::TRANSACTION;
use super::purpose::Purpose;
use super::transaction::{demand, transaction};
use super::{Lock, Outcome, Patchable, Request, locked, sync_again};
use crate::error::Error;
use crate::platform::Visibility;
#[cfg(jumplabel_sites)]
use {
    super::patchable::{Comparison, complaint, nothing, of},
    crate::format::Object,
    crate::platform::{Held, Objects},
    crate::site::{index, object, readable},
};

/// Looks at the sites of all keys, static calls and modes in the process. If something outside the library has changed a site, repairs it: the
/// site then does again what its key, call or mode says. [`Outcome::sites`] is the number of repaired sites.
///
/// After each of three events, a site holds the bytes of its object's file again: a uprobe was removed, the program called `madvise(MADV_DONTNEED)`,
/// or the same file was mapped again. The bytes in the file are always one of the site's states. If the key has changed since the object was loaded,
/// that state is wrong. `enable`, `disable`, `set` and `update` look at the sites of the key, mode or call that they change, even if this key, mode
/// or call is already as wanted. A program that changes nothing can call `verify` instead: after such an event, or from time to time.
///
/// A site that holds foreign bytes (a breakpoint, a uprobe that is still set) is left alone. Two sorts of sites are right, and are also left alone:
/// sites of keys declared `or_load` that still load, and calls listed by `jumplabel link` that lead to their trampoline.
///
/// Costs a read of each site, and a flip if there is something to repair. Blocks while another thread flips. Safe in signal handlers,
/// constructors, and before and after `fork`. If you change the mapping of code, hold a [`Lock`] while you do it: the bytes of a site must not
/// be replaced between two steps of a flip.
///
/// # Errors
/// The errors of a flip. [`Error::ForeignBytes`], [`Error::Unreadable`], [`Error::DamagedTable`], [`Error::UnknownKind`], [`Error::CopiedCode`],
/// [`Error::MultiThreaded`] and [`Error::NoWriter`] report a site that could not be repaired. All other sites are right then, except those that
/// have such an error, too. (`MultiThreaded` is for an operation in place or an alternative: these cannot be repaired while other threads run.
/// `NoWriter` is for calls that `jumplabel link` has listed: `procmem` cannot repair them, and only `procmem` was allowed to write.)
/// [`Error::Denied`] also reports such a site, if the system refuses all writers except `procmem`, and listed calls have strayed. On any other
/// error, and if no site could be repaired, nothing has changed.
pub fn verify() -> Result<Outcome, Error> {
    #[cfg_attr(not(jumplabel_sites), allow(unused_mut))] // Without sites, there is nothing to repair.
    let mut lock = Lock::take()?;
    #[cfg(jumplabel_sites)]
    {
        super::patchable::know_all(&lock.objects);
        let outcome = repair(Purpose::Repair, &mut lock)?;
        let findings = &TRANSACTION.get(&mut lock.patch).plan.findings;
        let (left_out, has_skipped) = (findings.left_out, findings.skipped);
        #[cfg(jumplabel_alternatives)]
        let (left_out, outcome) = match repair_alternatives(outcome, &mut lock) {
            Ok(outcome) => (left_out, outcome),
            Err(error) => (left_out.or(Some(error)), outcome),
        };
        let missed = |object| missed_in(object, has_skipped, &lock.objects);
        left_out.or_else(|| object::all(&lock.objects).find_map(missed)).map_or(Ok(outcome), Err)
    }
    #[cfg(not(jumplabel_sites))]
    {
        drop(lock);
        Ok(Outcome::default())
    }
}

/// Sets the sites of all objects to the states that their patchables ask for. Leaves out sites for which that is impossible.
#[cfg(jumplabel_sites)]
fn repair(purpose: Purpose, lock: &mut Lock) -> Result<Outcome, Error> {
    transaction(&[], lock, &|_, plan, held| {
        object::all(held).try_for_each(|object| plan.collect_object(object, purpose, held))
    })
}

/// Repairs alternatives, if any have strayed. Called after all other sites were repaired; `outcome` is the outcome of that repair. Returns the
/// outcome of both repairs, or an error if alternatives have strayed and other threads run.
#[cfg(jumplabel_alternatives)]
fn repair_alternatives(outcome: Outcome, lock: &mut Lock) -> Result<Outcome, Error> {
    if !TRANSACTION.get(&mut lock.patch).plan.findings.alternatives {
        return Ok(outcome);
    }
    lock.demand_one_thread()?;
    let of_alternatives = repair(Purpose::RepairAll, lock)?;
    Ok(Outcome {
        sites: outcome.sites + of_alternatives.sites,
        pages: outcome.pages + of_alternatives.pages,
        ..of_alternatives
    })
}

/// The error that says why a site of `object` may not do what its patchable says: the table is damaged or, if `has_skipped` is true, a site cannot be
/// read or is in none of its states. `None` if all sites are right.
#[cfg(jumplabel_sites)]
fn missed_in(object: &Object, has_skipped: bool, held: &Held<Objects>) -> Option<Error> {
    let of_table = index::build(object, held).and_then(|()| index::demand_sound(object, None, |_| true, held)).err();
    of_table.or_else(|| has_skipped.then(|| missed_site(object, held))?)
}

/// The error because of which the first skipped site of `object` was skipped. `None` if no site was skipped.
#[cfg(jumplabel_sites)]
fn missed_site(object: &Object, held: &Held<Objects>) -> Option<Error> {
    index::sound(object, held).find_map(|(entry, address)| {
        // SAFETY: the index found the entry sound, and the lock is held. The object of the entry's patchable was loaded before this object.
        let patchable = unsafe { of(entry, address) }?;
        if let Some(address) = readable::hidden(entry) {
            return Some(Error::Unreadable { address });
        }
        // SAFETY: the index found the entry sound, and the lock keeps its object loaded.
        let compared = unsafe { Comparison::at(entry, patchable, patchable.setting(), false, nothing) };
        // SAFETY: the index found the entry sound, and the lock keeps its object loaded.
        compared.err().map(|setting| unsafe { complaint(entry, patchable, setting) })
    })
}

/// Sets the sites of `patchable` to the states that its present setting asks for.
pub(crate) fn verify_one(patchable: &dyn Patchable) -> Result<Outcome, Error> {
    carry_out(patchable, Purpose::Repair)
}

/// Sets the sites of `patchable` to the states that the compiler emits for its present setting.
pub(crate) fn restore_pristine(patchable: &dyn Patchable) -> Result<Outcome, Error> {
    // Restoring a site takes several steps, which `primed` would count. But restoring is the opposite of priming.
    Ok(Outcome { primed: 0, ..carry_out(patchable, Purpose::RestorePristine)? })
}

#[inline(never)]
fn carry_out(patchable: &dyn Patchable, purpose: Purpose) -> Result<Outcome, Error> {
    let requests = [Request::new(patchable, 0)];
    let mut lock = locked(&requests)?;
    demand(&requests, &lock.objects)?;
    let mut outcome = transaction(&[], &mut lock, &|_, plan, held| plan.collect_same(patchable, purpose, held))?;
    match (outcome.writer, outcome.visibility) {
        (None, _) => outcome.visibility = sync_again(patchable, &mut lock.platform_state),
        (_, Visibility::Immediate) => patchable.set_eventual(false),
        (_, Visibility::Eventual) if purpose == Purpose::Repair => patchable.set_eventual(true),
        _ => {}
    }
    Ok(outcome)
}
