//! The index of an object: the numbers of its table entries, ordered by key, then by address. Four bytes a site, built
//! at the first flip in private memory; the table itself is never written.

use core::sync::atomic::Ordering;

use super::{Entry, object::Object};
use crate::error::Error;
use crate::patch::Lock;
use crate::text;

/// The entries of `object` whose key is at `key`, in the order of their addresses.
pub(crate) fn entries<'lock>(
    object: &'lock Object,
    key: usize,
    lock: &'lock Lock,
) -> Result<impl ExactSizeIterator<Item = &'lock Entry>, Error> {
    let table = object.table();
    let order = order(object, lock)?;
    let at = |number: &u32| &table[*number as usize];
    let first = order.partition_point(|number| at(number).key() < key);
    let count = order[first..].partition_point(|number| at(number).key() == key);
    Ok(order[first..first + count].iter().map(at))
}

/// The index, built where it is missing.
fn order<'lock>(object: &'lock Object, lock: &'lock Lock) -> Result<&'lock [u32], Error> {
    let table = object.table();
    let built = object.index.load(Ordering::Acquire);
    if !built.is_null() {
        // SAFETY: `table.len()` numbers, published below, freed under the lock when the object goes.
        return Ok(unsafe { core::slice::from_raw_parts(built, table.len()) });
    }
    if table.is_empty() {
        return Ok(&[]);
    }
    check(object)?;
    let bytes = size_of_val(table) / size_of::<Entry>() * size_of::<u32>();
    let memory = lock.text().allocate(bytes).ok_or(Error::OutOfMemory)?.cast::<u32>();
    // SAFETY: `allocate` gives zeroed memory of that size, aligned to a page, to nobody else.
    let order = unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), table.len()) };
    for (place, number) in order.iter_mut().zip(0..) {
        *place = number;
    }
    order.sort_unstable_by_key(|&number| {
        let entry = &table[number as usize];
        (entry.key(), entry.code())
    });
    object.index_bytes.store(bytes, Ordering::Relaxed);
    object.index.store(memory.as_ptr(), Ordering::Release);
    Ok(order)
}

/// Refuses a table with an entry that leads out of its object, before any of it is believed.
#[doc(hidden)] // Public for the fuzzer.
pub fn check(object: &Object) -> Result<(), Error> {
    let Some(image) = text::image(object.header()) else { return Ok(()) };
    for entry in object.table() {
        let damaged = !image.contains_code(entry.code(), crate::arch::SITE_SIZE)
            || !image.contains_code(entry.target(), 1)
            || !image.contains_key(super::relative(&raw const entry.key))
            || entry.key() % align_of::<crate::RawKey>() != 0;
        if damaged {
            return Err(Error::DamagedTable { entry: core::ptr::from_ref(entry) as usize });
        }
    }
    Ok(())
}

/// Frees the index.
#[cfg(jumplabel_sites)]
pub(super) fn discard(object: &Object, lock: &Lock) {
    let built = object.index.swap(core::ptr::null_mut(), Ordering::AcqRel);
    if let Some(memory) = core::ptr::NonNull::new(built) {
        // SAFETY: from `allocate` with this size, and nobody holds a slice of it: the lock is held.
        unsafe { lock.text().release(memory.cast(), object.index_bytes.load(Ordering::Relaxed)) };
    }
}

/// Bytes of all indexes now: what flipping has cost in memory that stays.
///
/// # Errors
/// Where the lock cannot be taken, as for [`RawKey::seal`](crate::RawKey::seal).
pub fn index_bytes() -> Result<usize, Error> {
    let lock = Lock::take()?;
    Ok(super::object::all(&lock).map(|object| object.index_bytes.load(Ordering::Relaxed)).sum())
}
