//! The index of an object lists the entries of the object's table in another order: by key, then by address. For each entry, the index has four
//! bytes: the entry's number in the table. The first flip builds the index in private memory. The table is never written.
//!
//! ```text
//!   what an entry names                       in the index    which flips are refused, and how
//!   key, site and target where they can be    yes             none
//!   NULL as the key (a weak symbol that       no              none: nobody can flip such a key
//!     nobody defines)
//!   a site in code that was freed, or that    no              none: the site is not written
//!     the linker dropped (PE)
//!   a key, and a site or target that are      yes             flips of that key, as DamagedTable
//!     not code of the object
//!   a site in code of which a copy runs       yes             flips of that key, as CopiedCode
//!   a kind that nobody knows                  yes             flips of that key, as UnknownKind
//!   arms that cannot be read now              yes             flips of that key, as Unreadable, until the arms can be read
//!   no place where a key can be               no              flips of all keys that the entry can belong to, as DamagedTable: the keys
//!                                                             in its object or, if the slot of the key's address is lost, all keys
//! ```
//!
//! So an entry that a tool has broken blocks only the flips that may need its site.

use core::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use super::Entries;
#[cfg(jumplabel_sites)]
use super::object;
use super::readable;
use super::search::{below, key_of, near_below};
use super::verdict::Verdict;
use crate::error::Error;
use crate::format::{Entry, Object};
use crate::platform::{Held, Image, Objects};
use crate::sort::sort_unstable_by;

/// The entries of `object` whose key is at `key`, in the order of their sites' addresses.
pub(crate) fn entries<'held>(
    object: &'held Object,
    key: usize,
    held: &'held Held<Objects>,
) -> Result<Entries<'held>, Error> {
    demand(object, key, held)?;
    entries_behind(&mut 0, object, key, held)
}

/// Builds the index of `object`, if it is missing. Returns an error if the library cannot rely on an entry of `object` that belongs, or may
/// belong, to the key at `key`.
#[inline]
pub(crate) fn demand(object: &Object, key: usize, held: &Held<Objects>) -> Result<(), Error> {
    order(object, held)?;
    if object.damaged.load(Ordering::Relaxed) == 0 { Ok(()) } else { demand_sound(object, Some(key), |_| true, held) }
}

/// Like [`entries`], for a caller that asks for one key after the other, in the order of the keys' addresses. `place` is the position in the index at
/// which the previous key was found. The caller sets `place` to 0 before the first key, and this function updates it. The caller has called
/// [`demand`].
pub(crate) fn entries_behind<'held>(
    place: &mut usize,
    object: &'held Object,
    key: usize,
    held: &'held Held<Objects>,
) -> Result<Entries<'held>, Error> {
    let entries = Entries::new(object.table(), numbers(place, object, key, held)?);
    readable::demand(entries)?;
    Ok(entries)
}

/// The number of entries of `object` that name the key at `key`.
#[cfg(jumplabel_sites)]
pub(crate) fn count(object: &Object, key: usize, held: &Held<Objects>) -> Result<usize, Error> {
    Ok(numbers(&mut 0, object, key, held)?.len())
}

/// The position in an index at which the last key was found. A flip searches for its key several times, and the next flip is often a flip of the same
/// key. The position is only a guess, so a position in the index of another object does no harm.
static LAST: AtomicUsize = AtomicUsize::new(0);

fn numbers<'held>(
    place: &mut usize,
    object: &'held Object,
    key: usize,
    held: &'held Held<Objects>,
) -> Result<&'held [u32], Error> {
    let table = object.table();
    let order = order(object, held)?;
    let last = LAST.load(Ordering::Relaxed);
    let names_it = |number: Option<&u32>| number.is_some_and(|&number| key_of(table, number) == key);
    *place += match order.get(*place..) {
        _ if *place == 0 && names_it(order.get(last)) && !names_it(order.get(last.wrapping_sub(1))) => last,
        // The key is probably close to the previous key.
        Some(rest) if *place > 0 => near_below(rest, table, key),
        _ => below(order, table, key),
    };
    LAST.store(*place, Ordering::Relaxed);
    let from_there = order.get(*place..).unwrap_or_default();
    // Most keys have few sites, so the last entry of this key is close.
    Ok(from_there.get(..near_below(from_there, table, key.saturating_add(1))).unwrap_or_default())
}

/// Builds the index of `object`, if it is missing. Returns an error if a copy of one of the object's sites runs instead of the site.
pub(crate) fn build(object: &Object, held: &Held<Objects>) -> Result<(), Error> {
    order(object, held)?;
    let Some(image) = object.image(held) else { return Ok(()) };
    let copied = object.table().iter().map(Entry::code).find(|&address| image.is_copied(address));
    copied.map_or(Ok(()), |address| Err(Error::CopiedCode { address }))
}

/// The index of `object`. Builds it if it is missing.
#[inline]
fn order<'held>(object: &'held Object, held: &'held Held<Objects>) -> Result<&'held [u32], Error> {
    let built = object.index.load(Ordering::Acquire);
    if built.is_null() {
        return make(object, held);
    }
    let len = object.index_bytes.load(Ordering::Relaxed) / size_of::<u32>();
    // SAFETY: `make` has allocated and published memory for `len` numbers. Only `discard` frees it, under the lock, when no slice of it is in use.
    Ok(unsafe { core::slice::from_raw_parts(built, len) })
}

/// Builds the index of `object`.
#[cold]
#[inline(never)] // If this were inlined, the `Image`, which is large, would be on the stack of each flip.
fn make<'held>(object: &'held Object, held: &'held Held<Objects>) -> Result<&'held [u32], Error> {
    let table = object.table();
    let image = object.image(held);
    let key_of = |entry| Verdict::of(entry, object, image.as_ref()).key();
    let len = examine(object, image.as_ref());
    if len == 0 {
        return Ok(&[]);
    }
    let bytes = len * size_of::<u32>();
    let memory = held.platform().allocate(bytes).ok_or(Error::OutOfMemory)?.cast::<u32>();
    // SAFETY: `allocate` gave zeroed memory of that size, aligned to 64 bytes, that no other code uses.
    let order = unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), len) };
    let numbers = (0..).zip(table).filter(|(_, entry)| len == table.len() || key_of(entry).is_some());
    for (place, (number, _)) in order.iter_mut().zip(numbers) {
        *place = number;
    }
    let place = |&number: &u32| table.get(number as usize).map(|entry| (entry.key(), entry.code()));
    sort_unstable_by(order, |a, b| place(a) < place(b));
    object.index_bytes.store(bytes, Ordering::Relaxed);
    object.index.store(memory.as_ptr(), Ordering::Release);
    Ok(order)
}

/// Looks at all entries before the library relies on any of them. Returns the number of entries that name a key. If some entries are damaged, so that
/// flips may be refused, stores the address of one of them in `object.damaged`; otherwise stores 0.
fn examine(object: &Object, image: Option<&Image>) -> usize {
    let (mut len, mut damaged) = (0, 0);
    for entry in object.table() {
        let verdict = Verdict::of(entry, object, image);
        len += usize::from(verdict.key().is_some());
        if !matches!(verdict, Verdict::Sound(_) | Verdict::Nobodys | Verdict::Freed) {
            damaged = core::ptr::from_ref(entry) as usize;
        }
    }
    object.damaged.store(damaged, Ordering::Relaxed);
    len
}

/// Returns an error if `object` has an entry on which the library cannot rely now. Looks only at entries that belong, or may belong, to the key at
/// `key` and for which `is_one` returns true. If `key` is `None`, looks at the entries of all keys.
#[cold]
#[inline(never)]
pub(crate) fn demand_sound(
    object: &Object,
    key: Option<usize>,
    is_one: fn(&Entry) -> bool,
    held: &Held<Objects>,
) -> Result<(), Error> {
    let image = object.image(held);
    for entry in object.table().iter().filter(|entry| is_one(entry)) {
        let verdict = Verdict::of(entry, object, image.as_ref());
        let concerns = verdict.concerns(key, image.as_ref());
        match verdict {
            Verdict::Copied(_) if concerns => return Err(Error::CopiedCode { address: entry.code() }),
            Verdict::Unknown(_) if concerns => return entry.known_kind().map(drop),
            Verdict::Damaged(_) | Verdict::Lost { .. } if concerns => {}
            _ => continue,
        }
        let target = if entry.loads() { entry.arm_word() } else { entry.target() };
        if image.as_ref().is_some_and(|image| image.contains_code(target, 1)) && !readable::can_read(target, 1) {
            return Err(Error::Unreadable { address: target });
        }
        return Err(Error::DamagedTable { entry: core::ptr::from_ref(entry) as usize });
    }
    Ok(())
}

/// The sound entries of `object`, each with the address of its key. A sound entry leads to code of the object and to a key.
#[cfg(jumplabel_sites)]
pub(crate) fn sound<'held>(
    object: &'held Object,
    held: &Held<Objects>,
) -> impl Iterator<Item = (&'held Entry, usize)> + use<'held> {
    let image = object.image(held);
    object.table().iter().filter_map(move |entry| match Verdict::of(entry, object, image.as_ref()) {
        Verdict::Sound(key) => Some((entry, key)),
        _ => None,
    })
}

/// The sound entries of all objects, each with the address of its key.
#[cfg(jumplabel_sites)]
pub(crate) fn all_sound(held: &Held<Objects>) -> impl Iterator<Item = (&Entry, usize)> {
    // A `flat_map` would take room on the stack for two images.
    let (mut objects, mut entries) = (object::all(held), None);
    object::Outlined(core::iter::from_fn(move || {
        loop {
            if let Some(found) = entries.as_mut().and_then(Iterator::next) {
                return Some(found);
            }
            entries = Some(sound(objects.next()?, held));
        }
    }))
}

/// The entries of `object` that are not sound, except those whose site was freed.
#[cfg(jumplabel_short_engine)]
pub(crate) fn unsound<'held>(
    object: &'held Object,
    held: &Held<Objects>,
) -> impl Iterator<Item = &'held Entry> + use<'held> {
    let image = object.image(held);
    let is_right =
        move |entry: &&Entry| matches!(Verdict::of(entry, object, image.as_ref()), Verdict::Sound(_) | Verdict::Freed);
    object.table().iter().filter(move |entry| !is_right(entry))
}

/// Frees the index of `object`.
#[cfg(jumplabel_sites)]
pub(crate) fn discard(object: &Object, held: &Held<Objects>) {
    let built = object.index.swap(core::ptr::null_mut(), Ordering::AcqRel);
    if let Some(memory) = core::ptr::NonNull::new(built) {
        // SAFETY: the memory came from `allocate`, with this size. The lock keeps other threads from using slices of it, and the caller of `discard`
        // has none.
        unsafe { held.platform().release(memory.cast(), object.index_bytes.load(Ordering::Relaxed)) };
    }
}
